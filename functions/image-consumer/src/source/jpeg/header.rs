//! What has to be known of a JPEG before a pixel is decoded: its size, its kind, its colours, and that its end is there. From marker to
//! marker (ITU-T T.81, annex B); what is between them is the decoder's.

use crate::picture_error::PictureError;

use super::{Scale, malformed, truncated};

/// Most bytes of a colour profile that are put together from its segments.
const MAX_PROFILE_BYTES: usize = 4 * 1024 * 1024;
/// Most scans of one file. Encoders write about ten; each scan costs a pass over the whole frame, whatever it holds.
const MAX_SCANS: usize = 100;
const END_OF_IMAGE_BYTES: usize = 2;
const ENDS_WITH_HEIGHT: PictureError = PictureError::Unsupported { what: "a JPEG that tells its height at its end" };

/// The frame, and the segments that say what it means.
pub(crate) struct Header {
    pub(super) width: u32,
    pub(super) height: u32,
    is_progressive: bool,
    components: Vec<Component>,
    is_jfif: bool,
    /// The transform of the Adobe segment, if there is one.
    adobe_transform: Option<u8>,
    /// The EXIF block, a TIFF file.
    pub(super) exif: Option<Vec<u8>>,
    /// The ICC colour profile.
    pub(super) profile: Option<Vec<u8>>,
    /// Where the coded data end, and the marker that ends the image stands, with the bytes that may fill up the space before it.
    pub(super) end: usize,
}

/// One component: luma, a chroma, an ink.
struct Component {
    id: u8,
    /// Horizontal and vertical sampling factor, 1 to 4.
    factors: (u32, u32),
}

/// How the components make a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorModel {
    /// One component.
    Gray,
    /// Red, green and blue as they are.
    Rgb,
    /// Luma and two chromas (JFIF).
    YCbCr,
    /// Four inks; with an Adobe segment 255 is no ink.
    Cmyk { is_inverted: bool },
    /// Four inks of Adobe's, the first three stored as luma and chromas.
    Ycck,
}

impl Header {
    /// Reads all segments from the start of the image to its end.
    pub(super) fn read(data: &[u8]) -> Result<Self, PictureError> {
        let mut segments = Segments { data, position: 2 };
        let (mut frame, mut scans) = (None, 0);
        let (mut is_jfif, mut adobe_transform, mut exif) = (false, None, None);
        let mut profile = ProfileParts::default();
        loop {
            let (marker, body) = segments.next()?;
            match marker {
                0xc0..=0xc2 if frame.is_some() => return Err(malformed("it has two frames")),
                0xc0..=0xc2 => frame = Some(read_frame(body, marker == 0xc2)?),
                0xc3 | 0xc5..=0xc7 | 0xc9..=0xcf | 0xde..=0xdf => {
                    return Err(PictureError::Unsupported {
                        what: "a JPEG of a rare kind (lossless, hierarchical or arithmetic)",
                    });
                }
                0xdc => return Err(ENDS_WITH_HEIGHT),
                0xda => scans += 1,
                // Without the end nobody knows how much is missing.
                0xd9 if scans == 0 => return Err(truncated()),
                0xd9 => break,
                0xe0 => is_jfif |= body.starts_with(b"JFIF\0"),
                0xe1 if exif.is_none() => exif = body.strip_prefix(b"Exif\0\0").map(<[u8]>::to_vec),
                0xe2 => profile.add(body),
                0xee if body.starts_with(b"Adobe") => adobe_transform = body.get(11).copied().or(adobe_transform),
                _ => {}
            }
            if scans > 0 && frame.is_none() {
                return Err(malformed("a scan comes before the frame"));
            }
            if scans > MAX_SCANS {
                return Err(malformed("it has more than 100 scans"));
            }
        }
        let frame = frame.ok_or(truncated())?;
        let end = end_of_data(&data[..segments.position - END_OF_IMAGE_BYTES]);
        Ok(Self { is_jfif, adobe_transform, exif, profile: profile.joined(), end, ..frame })
    }

    /// As libjpeg decides it: by the JFIF segment, then by Adobe's, then by the components' names.
    pub(super) fn color_model(&self) -> ColorModel {
        let is_named_rgb = self.components.iter().map(|component| component.id).eq(*b"RGB");
        match (self.components.len(), self.adobe_transform) {
            (1, _) => ColorModel::Gray,
            (3, _) if self.is_jfif => ColorModel::YCbCr,
            (3, Some(0)) => ColorModel::Rgb,
            (3, None) if is_named_rgb => ColorModel::Rgb,
            (3, _) => ColorModel::YCbCr,
            (_, Some(2)) => ColorModel::Ycck,
            (_, transform) => ColorModel::Cmyk { is_inverted: transform.is_some() },
        }
    }

    /// Components of a pixel.
    pub(super) fn channels(&self) -> usize {
        self.components.len()
    }

    /// Most bytes that the decoder takes, its pixels included.
    ///
    /// It hands coefficients to a thread for each component, and what these have not come to yet waits: at worst all of them. Of a
    /// progressive picture it keeps all coefficients besides, until the last scan.
    pub(crate) fn decoding_bytes(&self, scale: Scale) -> u64 {
        const THREAD_BYTES: u64 = 128 * 1024;
        const COEFFICIENTS_OF_A_BLOCK: u64 = 64 * size_of::<i16>() as u64;
        let largest = |factor: fn(&Component) -> u32| self.components.iter().map(factor).max().unwrap_or(1);
        let (h_max, v_max) = (largest(|component| component.factors.0), largest(|component| component.factors.1));
        let units = u64::from(self.width.div_ceil(8 * h_max)) * u64::from(self.height.div_ceil(8 * v_max));
        let blocks: u64 = self.components.iter().map(|Component { factors: (h, v), .. }| units * u64::from(h * v)).sum();

        let copies = if self.is_progressive { 2 } else { 1 };
        let coefficients = blocks * COEFFICIENTS_OF_A_BLOCK * copies;
        let planes = blocks * u64::from(scale.block_side().pow(2));
        let channels = self.components.len() as u64;
        let pixels = u64::from(scale.of(self.width)) * u64::from(scale.of(self.height)) * channels;
        let rows = u64::from(self.width + 32) * channels * 4;
        coefficients + planes + pixels + rows + channels * THREAD_BYTES
    }
}

/// Bytes before the filling of a marker (T.81, B.1.1.2). Coded data never end with it.
fn end_of_data(before_marker: &[u8]) -> usize {
    before_marker.iter().rposition(|&byte| byte != 0xff).map_or(0, |last| last + 1)
}

/// The frame header (T.81, B.2.2).
fn read_frame(body: &[u8], is_progressive: bool) -> Result<Header, PictureError> {
    const DAMAGED: &str = "the frame header is damaged";
    let &[precision, h1, h0, w1, w0, count, ref components @ ..] = body else { return Err(malformed(DAMAGED)) };
    if precision != 8 {
        return Err(PictureError::Unsupported { what: "a JPEG of more than 8 bits" });
    }
    if !matches!(count, 1 | 3 | 4) {
        return Err(PictureError::Unsupported { what: "a JPEG of another number of colours than 1, 3 or 4" });
    }
    let (width, height) = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
    if height == 0 {
        return Err(ENDS_WITH_HEIGHT);
    }
    if width == 0 || components.len() != 3 * usize::from(count) {
        return Err(malformed(DAMAGED));
    }
    let mut read = Vec::with_capacity(components.len() / 3);
    for part in components.chunks_exact(3) {
        let factors = (u32::from(part[1] >> 4), u32::from(part[1] & 15));
        if !(1..=4).contains(&factors.0) || !(1..=4).contains(&factors.1) {
            return Err(malformed("a sampling factor is out of range"));
        }
        read.push(Component { id: part[0], factors });
    }
    let (is_jfif, adobe_transform, exif, profile) = (false, None, None, None);
    Ok(Header { width, height, is_progressive, components: read, is_jfif, adobe_transform, exif, profile, end: 0 })
}

/// Goes from marker to marker.
struct Segments<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Segments<'a> {
    /// The next marker and its segment; the segment is empty for markers without one. Bytes between segments are passed over: the coded
    /// data of scans, and what some cameras write.
    fn next(&mut self) -> Result<(u8, &'a [u8]), PictureError> {
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
                // A byte of coded data, or filling.
                Some(0 | 0xff) => {}
                Some(&marker) => {
                    self.position += 1;
                    return Ok(marker);
                }
            }
        }
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
