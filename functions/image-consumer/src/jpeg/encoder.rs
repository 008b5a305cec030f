//! RGB to baseline JPEG with chroma at half the resolution, which is what web pictures have.

use super::{
    ZIGZAG,
    forward_dct::{quantizers, transform},
    inverse_dct::ZIGZAG_BY_COLUMNS,
    standard_tables::{AC_CHROMA, AC_LUMA, DC_CHROMA, DC_LUMA, HuffmanSpec, QUANTIZATION_CHROMA, QUANTIZATION_LUMA},
};
use crate::{cancel::Cancel, picture_error::PictureError};

/// Longest side that the format can say.
const MAX_SIDE: u32 = 65_535;

/// Most bytes that encoding takes beside the pixels and the file.
pub(crate) fn encoder_bytes(width: u32) -> u64 {
    u64::from(width + 16) * 24 * size_of::<f32>() as u64 + 16 * 1024
}

/// Encodes rows of RGB; `quality` is 1 to 100 on the scale that libjpeg has made usual.
///
/// # Errors
/// When the work was called off, or a side is longer than the format can say.
pub(crate) fn encode(rgb: &[u8], (width, height): (u32, u32), quality: u8, cancel: &Cancel) -> Result<Vec<u8>, PictureError> {
    if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE || rgb.len() != width as usize * height as usize * 3 {
        return Err(PictureError::NotWritten { format: "JPEG" });
    }
    let (luma, chroma) = (scaled(&QUANTIZATION_LUMA, quality), scaled(&QUANTIZATION_CHROMA, quality));
    let mut file = Vec::with_capacity(rgb.len() / 16 + 1024);
    write_header(&mut file, (width as u16, height as u16), &luma, &chroma);
    let mut encoder = ScanEncoder {
        luma: Channel { quantizers: quantizers(&luma), dc: Codes::new(&DC_LUMA), ac: Codes::new(&AC_LUMA) },
        chroma: Channel { quantizers: quantizers(&chroma), dc: Codes::new(&DC_CHROMA), ac: Codes::new(&AC_CHROMA) },
        bits: BitWriter { file, bits: 0, count: 0 },
        predictions: [0; 3],
    };
    let mut stripe = Stripe::new(width as usize);
    for y in (0..height as usize).step_by(16) {
        cancel.check()?;
        stripe.fill(rgb, width as usize, height as usize, y);
        encoder.write(&stripe);
    }
    let mut file = encoder.bits.finish();
    file.extend([0xff, 0xd9]);
    Ok(file)
}

/// The tables of T.81, annex K, for a quality: the formula of libjpeg, so that a number means what users expect.
fn scaled(table: &[u8; 64], quality: u8) -> [u8; 64] {
    let quality = u32::from(quality.clamp(1, 100));
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    table.map(|value| ((u32::from(value) * percent + 50) / 100).clamp(1, 255) as u8)
}

fn write_header(file: &mut Vec<u8>, (width, height): (u16, u16), luma: &[u8; 64], chroma: &[u8; 64]) {
    let mut segment = |marker: u8, parts: &[&[u8]]| {
        let length = 2 + parts.iter().map(|part| part.len()).sum::<usize>() as u16;
        file.extend([0xff, marker]);
        file.extend(length.to_be_bytes());
        parts.iter().for_each(|part| file.extend_from_slice(part));
    };
    let zigzag = |table: &[u8; 64]| ZIGZAG.map(|natural| table[usize::from(natural)]);
    let ([w1, w0], [h1, h0]) = (width.to_be_bytes(), height.to_be_bytes());
    let start = &[0xff, 0xd8];
    // JFIF 1.01, no density, no thumbnail. Nothing else is written: no EXIF, no position, no profile, since pixels are sRGB.
    segment(0xe0, &[b"JFIF\0", &[1, 1, 0, 0, 1, 0, 1, 0, 0]]);
    segment(0xdb, &[&[0], &zigzag(luma), &[1], &zigzag(chroma)]);
    segment(0xc0, &[&[8, h1, h0, w1, w0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]]);
    for (id, spec) in [(0x00, &DC_LUMA), (0x10, &AC_LUMA), (0x01, &DC_CHROMA), (0x11, &AC_CHROMA)] {
        segment(0xc4, &[&[id], &spec.counts, spec.symbols]);
    }
    segment(0xda, &[&[3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0]]);
    file.splice(0..0, start.iter().copied());
}

/// Sixteen rows in luma and chroma, around zero, filled up to whole blocks with their last column and row.
struct Stripe {
    /// Luma samples of a row.
    across: usize,
    luma: Vec<f32>,
    /// Blue and red differences, at half the resolution.
    chroma: [Vec<f32>; 2],
}

impl Stripe {
    fn new(width: usize) -> Self {
        let across = width.next_multiple_of(16);
        let chroma = || vec![0.0; across / 2 * 8];
        Self { across, luma: vec![0.0; across * 16], chroma: [chroma(), chroma()] }
    }

    fn fill(&mut self, rgb: &[u8], width: usize, height: usize, top: usize) {
        let row_of = |y: usize| &rgb[(top + y).min(height - 1) * width * 3..][..width * 3];
        for y in 0..8 {
            let (upper, lower) = (row_of(2 * y), row_of(2 * y + 1));
            for (row, at) in [(upper, 2 * y), (lower, 2 * y + 1)] {
                let luma = &mut self.luma[at * self.across..(at + 1) * self.across];
                for (luma, pixel) in luma.iter_mut().zip(row.chunks_exact(3)) {
                    let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(f32::from);
                    *luma = 0.299 * red + 0.587 * green + 0.114 * blue - 128.0;
                }
                let last = luma[width - 1];
                luma[width..].fill(last);
            }
            self.fill_chroma(upper, lower, width, y);
        }
    }

    fn fill_chroma(&mut self, upper: &[u8], lower: &[u8], width: usize, y: usize) {
        let across = self.across / 2;
        let [blue_row, red_row] = &mut self.chroma;
        let (blue_row, red_row) = (&mut blue_row[y * across..(y + 1) * across], &mut red_row[y * across..(y + 1) * across]);
        let pixels = upper.chunks(6).zip(lower.chunks(6));
        for ((blue_difference, red_difference), (upper, lower)) in blue_row.iter_mut().zip(red_row.iter_mut()).zip(pixels) {
            // Of an odd width the last pixel counts twice.
            let right = upper.len() - 3;
            let mean = |channel: usize| {
                let sum = u16::from(upper[channel])
                    + u16::from(upper[right + channel])
                    + u16::from(lower[channel])
                    + u16::from(lower[right + channel]);
                f32::from(sum) * 0.25
            };
            let (red, green, blue) = (mean(0), mean(1), mean(2));
            *blue_difference = -0.168_735_9 * red - 0.331_264_1 * green + 0.5 * blue;
            *red_difference = 0.5 * red - 0.418_687_6 * green - 0.081_312_4 * blue;
        }
        let filled = width.div_ceil(2);
        for row in [blue_row, red_row] {
            let last = row[filled - 1];
            row[filled..].fill(last);
        }
    }
}

fn block(samples: &[f32], across: usize, column: usize, row: usize) -> [[f32; 8]; 8] {
    std::array::from_fn(|y| {
        let start = (row * 8 + y) * across + column * 8;
        std::array::from_fn(|x| samples[start + x])
    })
}

/// What blocks of luma, or of chroma, are written with.
struct Channel {
    quantizers: [f32; 64],
    dc: Codes,
    ac: Codes,
}

struct ScanEncoder {
    luma: Channel,
    chroma: Channel,
    bits: BitWriter,
    predictions: [i16; 3],
}

impl ScanEncoder {
    fn write(&mut self, stripe: &Stripe) {
        for unit in 0..stripe.across / 16 {
            for (column, row) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let samples = block(&stripe.luma, stripe.across, 2 * unit + column, row);
                write_block(&mut self.bits, &self.luma, samples, &mut self.predictions[0]);
            }
            for (chroma, prediction) in stripe.chroma.iter().zip(&mut self.predictions[1..]) {
                write_block(&mut self.bits, &self.chroma, block(chroma, stripe.across / 2, unit, 0), prediction);
            }
        }
    }
}

fn write_block(bits: &mut BitWriter, channel: &Channel, samples: [[f32; 8]; 8], prediction: &mut i16) {
    let by_columns = transform(samples, &channel.quantizers);
    let coefficients = ZIGZAG_BY_COLUMNS.map(|place| by_columns[usize::from(place & 63)]);
    let difference = coefficients[0] - *prediction;
    *prediction = coefficients[0];
    bits.write_value(&channel.dc, 0, difference);
    // One bit for each coefficient that has a value: the zeros between are counted at once.
    let mut rest = (1..64).fold(0_u64, |mask, at| mask | u64::from(coefficients[at] != 0) << at);
    let mut at = 0;
    while rest != 0 {
        let next = rest.trailing_zeros() as usize;
        let mut run = next - at - 1;
        while run > 15 {
            bits.write_code(&channel.ac, 0xf0);
            run -= 16;
        }
        bits.write_value(&channel.ac, run as u8, coefficients[next]);
        at = next;
        rest &= rest - 1;
    }
    if at < 63 {
        bits.write_code(&channel.ac, 0);
    }
}

/// For each symbol its code and the code's length.
struct Codes([(u16, u8); 256]);

impl Codes {
    fn new(spec: &HuffmanSpec) -> Self {
        let mut codes = [(0, 0); 256];
        let (mut code, mut symbols) = (0, spec.symbols.iter());
        for (length, &count) in (1..).zip(&spec.counts) {
            for &symbol in symbols.by_ref().take(count.into()) {
                codes[usize::from(symbol)] = (code, length);
                code += 1;
            }
            code <<= 1;
        }
        Self(codes)
    }
}

/// Writes bits, with a zero byte behind each 0xff.
struct BitWriter {
    file: Vec<u8>,
    /// The next bit goes below those that count.
    bits: u64,
    count: u32,
}

impl BitWriter {
    fn write_code(&mut self, codes: &Codes, symbol: u8) {
        let (code, length) = codes.0[usize::from(symbol)];
        self.write(code.into(), length.into());
    }

    /// The code of a run and a size, and the value in the form of T.81, F.1.2.1.
    fn write_value(&mut self, codes: &Codes, run: u8, value: i16) {
        let value = i32::from(value);
        let size = 32 - value.unsigned_abs().leading_zeros();
        let (code, length) = codes.0[usize::from(run << 4 | size as u8)];
        let bits = (if value < 0 { value - 1 } else { value }) as u32 & ((1 << size) - 1);
        self.write(u32::from(code) << size | bits, u32::from(length) + size);
    }

    /// At most 27 bits: a code of 16 and a value of 11.
    fn write(&mut self, bits: u32, length: u32) {
        self.bits = self.bits << length | u64::from(bits);
        self.count += length;
        if self.count >= 32 {
            self.count -= 32;
            self.flush((self.bits >> self.count) as u32);
        }
    }

    fn flush(&mut self, word: u32) {
        let bytes = word.to_be_bytes();
        if bytes.contains(&0xff) {
            bytes.iter().for_each(|&byte| self.push(byte));
        } else {
            self.file.extend_from_slice(&bytes);
        }
    }

    fn push(&mut self, byte: u8) {
        self.file.push(byte);
        if byte == 0xff {
            self.file.push(0);
        }
    }

    /// Fills the last byte with ones.
    fn finish(mut self) -> Vec<u8> {
        let filling = (8 - self.count % 8) % 8;
        let bits = self.bits << filling | ((1 << filling) - 1);
        let count = self.count + filling;
        for at in (0..count / 8).rev() {
            self.push((bits >> (8 * at)) as u8);
        }
        self.file
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The same picture as [`encode`] makes it, with a scan for each component: as some scanners and old programs write it.
    pub(crate) fn encode_in_three_scans(rgb: &[u8], (width, height): (u32, u32), quality: u8) -> Vec<u8> {
        let (luma, chroma) = (scaled(&QUANTIZATION_LUMA, quality), scaled(&QUANTIZATION_CHROMA, quality));
        let mut file = Vec::new();
        write_header(&mut file, (width as u16, height as u16), &luma, &chroma);
        // Up to the header of the one scan that is written usually.
        file.truncate(file.len() - 14);
        let channels = [
            Channel { quantizers: quantizers(&luma), dc: Codes::new(&DC_LUMA), ac: Codes::new(&AC_LUMA) },
            Channel { quantizers: quantizers(&chroma), dc: Codes::new(&DC_CHROMA), ac: Codes::new(&AC_CHROMA) },
        ];
        let mut stripe = Stripe::new(width as usize);
        for component in 0..3_u8 {
            let is_luma = component == 0;
            let tables = if is_luma { 0x00 } else { 0x11 };
            file.extend([0xff, 0xda, 0, 8, 1, component + 1, tables, 0, 63, 0]);
            let mut bits = BitWriter { file, bits: 0, count: 0 };
            let mut prediction = 0;
            // A scan of one component has no blocks that only fill units.
            let side = if is_luma { 8 } else { 16 };
            let (across, down) = (width.div_ceil(side) as usize, height.div_ceil(side) as usize);
            for row in 0..down {
                let top = row * side as usize / 16 * 16;
                stripe.fill(rgb, width as usize, height as usize, top);
                for column in 0..across {
                    let samples = if is_luma {
                        block(&stripe.luma, stripe.across, column, row % 2)
                    } else {
                        block(&stripe.chroma[usize::from(component) - 1], stripe.across / 2, column, 0)
                    };
                    write_block(&mut bits, &channels[usize::from(!is_luma)], samples, &mut prediction);
                }
            }
            file = bits.finish();
        }
        file.extend([0xff, 0xd9]);
        file
    }
}
