//! The segments before and between scans.

use super::{
    ZIGZAG,
    frame::{Component, Frame, Scale},
    huffman::HuffmanTable,
    malformed, truncated,
};
use crate::picture_error::PictureError;

/// Most bytes of a colour profile that are put together from its segments.
const MAX_PROFILE_BYTES: usize = 4 * 1024 * 1024;

/// A quantization table, row by row.
pub(super) type Quantization = [u16; 64];

/// What the header says about the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ColorHints {
    /// A JFIF segment is there: luma and chroma.
    pub(super) is_jfif: bool,
    /// The transform of the Adobe segment, if there is one. Its inks are inverted.
    pub(super) adobe_transform: Option<u8>,
}

/// Everything up to the first scan.
#[derive(Clone)]
pub(crate) struct Header {
    pub(super) frame: Frame,
    pub(super) colors: ColorHints,
    pub(super) tables: Tables,
    /// Where the first scan's header begins.
    pub(super) first_scan: usize,
    /// How many components the first scan has.
    first_scan_components: usize,
    /// The EXIF block, a TIFF file.
    pub(crate) exif: Option<Vec<u8>>,
    /// The ICC colour profile.
    pub(crate) profile: Option<Vec<u8>>,
}

impl Header {
    /// Width and height, as stored.
    pub(crate) fn dimensions(&self) -> (u32, u32) {
        (self.frame.width, self.frame.height)
    }

    /// Whether all coefficients are kept until the last scan: in progressive files, and in those with a scan for each component.
    pub(super) fn is_buffered(&self) -> bool {
        self.frame.is_progressive || self.first_scan_components < self.frame.components.len()
    }

    /// Whether the pixels are inks.
    pub(crate) fn is_cmyk(&self) -> bool {
        self.frame.components.len() == 4
    }

    /// Most bytes that decoding takes beside the rows that it hands out.
    pub(crate) fn decoding_bytes(&self, scale: Scale) -> u64 {
        let frame = &self.frame;
        let band_rows = u64::from(frame.v_max * 8 + 1);
        let padded_width = u64::from(frame.units().0 * frame.h_max * scale.block_side().max(8));
        let bands = padded_width * band_rows * (frame.components.len() as u64 + 3);
        bands + if self.is_buffered() { frame.coefficient_bytes() } else { 0 }
    }
}

/// The tables in force; later segments replace single ones.
#[derive(Clone, Default)]
pub(super) struct Tables {
    pub(super) quantization: [Option<Quantization>; 4],
    pub(super) dc: [Option<HuffmanTable>; 4],
    pub(super) ac: [Option<HuffmanTable>; 4],
    /// Units between restarts; 0: none.
    pub(super) restart_interval: u32,
}

/// Reads everything up to the first scan.
pub(crate) fn read_header(data: &[u8]) -> Result<Header, PictureError> {
    if !data.starts_with(&[0xff, 0xd8]) {
        return Err(malformed("it does not begin with a start of image"));
    }
    let mut segments = Segments { data, position: 2 };
    let mut tables = Tables::default();
    let (mut frame, mut colors, mut exif) = (None, ColorHints::default(), None);
    let mut profile = ProfileParts::default();
    loop {
        let (marker, body) = segments.next()?;
        match marker {
            0xc0..=0xc2 if frame.is_some() => return Err(malformed("it has two frames")),
            0xc0..=0xc2 => frame = Some(read_frame(body, marker == 0xc2)?),
            0xda => {
                let frame = frame.ok_or(malformed("a scan comes before the frame"))?;
                let first_scan_components = usize::from(*body.first().ok_or(truncated())?);
                let (first_scan, profile) = (segments.position_of(body), profile.joined());
                return Ok(Header { frame, colors, tables, first_scan, first_scan_components, exif, profile });
            }
            0xe0 => colors.is_jfif |= body.starts_with(b"JFIF\0"),
            0xe1 if exif.is_none() => exif = body.strip_prefix(b"Exif\0\0").map(<[u8]>::to_vec),
            0xe2 => profile.add(body),
            0xee if body.starts_with(b"Adobe") => colors.adobe_transform = body.get(11).copied().or(colors.adobe_transform),
            0xd9 => return Err(truncated()),
            _ => tables.apply(marker, body)?,
        }
    }
}

impl Tables {
    /// Takes a segment that may stand before any scan. What is only text or another program's business is passed over.
    pub(super) fn apply(&mut self, marker: u8, body: &[u8]) -> Result<(), PictureError> {
        match marker {
            0xc4 => self.read_huffman(body),
            0xdb => self.read_quantization(body),
            0xdd => {
                let &[high, low] = body else { return Err(malformed("a restart interval has another length")) };
                self.restart_interval = u32::from(u16::from_be_bytes([high, low]));
                Ok(())
            }
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcf => {
                Err(PictureError::Unsupported { what: "a JPEG of a rare kind (lossless, hierarchical or arithmetic)" })
            }
            0xdc => Err(PictureError::Unsupported { what: "a JPEG that tells its height at its end" }),
            _ => Ok(()),
        }
    }

    fn read_huffman(&mut self, mut body: &[u8]) -> Result<(), PictureError> {
        const DAMAGED: &str = "a Huffman table is damaged";
        while !body.is_empty() {
            let (head, rest) = body.split_at_checked(17).ok_or(malformed(DAMAGED))?;
            let (class, number) = (head[0] >> 4, usize::from(head[0] & 15));
            let counts: [u8; 16] = head[1..].try_into().map_err(|_| malformed(DAMAGED))?;
            let length = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(length).ok_or(malformed(DAMAGED))?;
            let tables = if class == 0 { &mut self.dc } else { &mut self.ac };
            let table = tables.get_mut(number).filter(|_| class < 2 && length <= 256).ok_or(malformed(DAMAGED))?;
            *table = Some(HuffmanTable::new(&counts, symbols)?);
            body = rest;
        }
        Ok(())
    }

    fn read_quantization(&mut self, mut body: &[u8]) -> Result<(), PictureError> {
        const DAMAGED: &str = "a quantization table is damaged";
        while let [head, rest @ ..] = body {
            let (bytes_each, number) = (1 + usize::from(head >> 4), usize::from(head & 15));
            let (values, rest) = rest.split_at_checked(64 * bytes_each).ok_or(malformed(DAMAGED))?;
            let mut table = [0; 64];
            for (value, &at) in values.chunks_exact(bytes_each).zip(&ZIGZAG) {
                table[usize::from(at)] = value.iter().fold(0, |sum, &byte| sum << 8 | u16::from(byte));
            }
            let slot = self.quantization.get_mut(number).filter(|_| bytes_each <= 2).ok_or(malformed(DAMAGED))?;
            *slot = Some(table);
            body = rest;
        }
        Ok(())
    }
}

fn read_frame(body: &[u8], is_progressive: bool) -> Result<Frame, PictureError> {
    const DAMAGED: &str = "the frame header is damaged";
    let &[precision, h1, h0, w1, w0, count, ref components @ ..] = body else { return Err(malformed(DAMAGED)) };
    if precision != 8 {
        return Err(PictureError::Unsupported { what: "a JPEG of more than 8 bits" });
    }
    if !matches!(count, 1 | 3 | 4) {
        return Err(PictureError::Unsupported { what: "a JPEG of another number of colours than 1, 3 or 4" });
    }
    if components.len() != 3 * usize::from(count) {
        return Err(malformed(DAMAGED));
    }
    let (width, height) = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
    if height == 0 {
        return Err(PictureError::Unsupported { what: "a JPEG that tells its height at its end" });
    }
    if width == 0 {
        return Err(malformed("its width is 0"));
    }
    let component = |part: &[u8]| match *part {
        [id, factors, table @ 0..=3] => {
            Ok(Component { id, h: u32::from(factors >> 4), v: u32::from(factors & 15), table: table.into() })
        }
        _ => Err(malformed(DAMAGED)),
    };
    Frame::new((width, height), is_progressive, components.chunks_exact(3).map(component).collect::<Result<_, _>>()?)
}

/// Goes from marker to marker.
pub(super) struct Segments<'a> {
    pub(super) data: &'a [u8],
    pub(super) position: usize,
}

impl<'a> Segments<'a> {
    /// The next marker and its segment; the segment is empty for markers without one. Bytes between segments are passed over, as every
    /// reader does: some cameras write them.
    pub(super) fn next(&mut self) -> Result<(u8, &'a [u8]), PictureError> {
        let marker = self.next_marker()?;
        if matches!(marker, 0x01 | 0xd0..=0xd9) {
            return Ok((marker, &[]));
        }
        let length = self.data.get(self.position..self.position + 2).ok_or(truncated())?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        if length < 2 {
            return Err(malformed("a segment has no length"));
        }
        let body = self.data.get(self.position + 2..self.position + length).ok_or(truncated())?;
        self.position += length;
        Ok((marker, body))
    }

    fn next_marker(&mut self) -> Result<u8, PictureError> {
        loop {
            let rest = self.data.get(self.position..).ok_or(truncated())?;
            let offset = rest.iter().position(|&byte| byte == 0xff).ok_or(truncated())?;
            self.position += offset + 1;
            match self.data.get(self.position) {
                None => return Err(truncated()),
                Some(0 | 0xff) => {}
                Some(&marker) => {
                    self.position += 1;
                    return Ok(marker);
                }
            }
        }
    }

    /// Where a segment that was just read begins: at its marker.
    fn position_of(&self, body: &[u8]) -> usize {
        self.position - body.len() - 4
    }
}

/// The parts of a colour profile: `ICC_PROFILE`, a number from one and how many there are (ICC.1, annex B.4).
#[derive(Default)]
struct ProfileParts<'a>(Vec<(u8, &'a [u8])>);

impl<'a> ProfileParts<'a> {
    fn add(&mut self, body: &'a [u8]) {
        if let Some([number, _, part @ ..]) = body.strip_prefix(b"ICC_PROFILE\0") {
            self.0.push((*number, part));
        }
    }

    fn joined(mut self) -> Option<Vec<u8>> {
        self.0.sort_by_key(|(number, _)| *number);
        let length: usize = self.0.iter().map(|(_, part)| part.len()).sum();
        (1..=MAX_PROFILE_BYTES).contains(&length).then(|| self.0.iter().flat_map(|(_, part)| part.iter().copied()).collect())
    }
}
