//! The blocks of a scan: entropy decoding (T.81, annexes F.2 and G.2).

use super::{
    ZIGZAG, bits::BitReader, frame::Frame, header::Tables, huffman::HuffmanTable, inverse_dct::ZIGZAG_BY_COLUMNS, malformed,
    truncated,
};
use crate::picture_error::PictureError;

/// Coefficients of one block, row by row.
pub(super) type Coefficients = [i16; 64];

/// The header of a scan.
#[derive(Clone, Debug)]
pub(super) struct ScanHeader {
    /// Index of the component in the frame, numbers of its DC and AC tables.
    pub(super) parts: Vec<(usize, usize, usize)>,
    /// First and last position in the zigzag order.
    pub(super) band: (usize, usize),
    /// Bit positions of successive approximation: the one before, or 0 in a first scan, and this scan's.
    pub(super) bits: (u32, u32),
}

impl ScanHeader {
    pub(super) fn read(body: &[u8], frame: &Frame) -> Result<Self, PictureError> {
        const DAMAGED: &str = "a scan header is damaged";
        let (&count, rest) = body.split_first().ok_or(truncated())?;
        let (selectors, rest) = rest.split_at_checked(2 * usize::from(count)).ok_or(malformed(DAMAGED))?;
        let &[first, last, bits] = rest else { return Err(malformed(DAMAGED)) };
        let mut parts: Vec<(usize, usize, usize)> = Vec::new();
        for selector in selectors.chunks_exact(2) {
            let index = frame.components.iter().position(|component| component.id == selector[0]).ok_or(malformed(DAMAGED))?;
            let (dc, ac) = (usize::from(selector[1] >> 4), usize::from(selector[1] & 15));
            if dc > 3 || ac > 3 || parts.iter().any(|part| part.0 == index) {
                return Err(malformed(DAMAGED));
            }
            parts.push((index, dc, ac));
        }
        let (first, last) = if frame.is_progressive { (usize::from(first), usize::from(last)) } else { (0, 63) };
        let (before, now) = if frame.is_progressive { (u32::from(bits >> 4), u32::from(bits & 15)) } else { (0, 0) };
        let is_dc = first == 0;
        let is_possible = !parts.is_empty()
            && last <= 63
            && first <= last
            && now <= 13
            && (!frame.is_progressive || (is_dc && last == 0) || (!is_dc && parts.len() == 1));
        if is_possible { Ok(Self { parts, band: (first, last), bits: (before, now) }) } else { Err(malformed(DAMAGED)) }
    }
}

/// Goes from block to block, with what is carried from one to the next.
pub(super) struct ScanState<'a> {
    pub(super) bits: BitReader<'a>,
    predictions: [i32; 4],
    end_of_band_run: u32,
    restart_interval: u32,
    until_restart: u32,
    next_restart: u8,
}

impl<'a> ScanState<'a> {
    pub(super) fn new(data: &'a [u8], position: usize, restart_interval: u32) -> Self {
        Self {
            bits: BitReader::new(data, position),
            predictions: [0; 4],
            end_of_band_run: 0,
            restart_interval,
            until_restart: restart_interval,
            next_restart: 0,
        }
    }

    /// Before each unit: goes past a restart marker where one is due.
    #[inline]
    pub(super) fn begin_unit(&mut self) -> Result<(), PictureError> {
        if self.restart_interval == 0 {
            return Ok(());
        }
        if self.until_restart == 0 {
            self.bits.restart(self.next_restart)?;
            self.next_restart = (self.next_restart + 1) % 8;
            self.until_restart = self.restart_interval;
            self.predictions = [0; 4];
            self.end_of_band_run = 0;
        }
        self.until_restart -= 1;
        Ok(())
    }

    /// A whole block of a sequential scan, multiplied by `factors` on the way, both column by column. Returns the last zigzag position
    /// with a value.
    #[inline]
    pub(super) fn sequential_block(
        &mut self,
        component: usize,
        (dc, ac): (&HuffmanTable, &HuffmanTable),
        factors: &[f32; 64],
        block: &mut [f32; 64],
    ) -> Result<usize, PictureError> {
        let prediction = self.next_dc(component, dc)?;
        block[0] = prediction as f32 * factors[0];
        let (mut at, mut last) = (1_usize, 0_usize);
        while at < 64 {
            let step = ac.coefficient(&mut self.bits)?;
            at += usize::from(step.skip);
            if step.value == 0 {
                continue;
            }
            let Some(&place) = ZIGZAG_BY_COLUMNS.get(at) else { return Err(malformed("a block has too many coefficients")) };
            let place = usize::from(place & 63);
            block[place] = f32::from(step.value) * factors[place];
            last = at;
            at += 1;
        }
        Ok(last)
    }

    /// A whole block of a sequential scan that is kept.
    pub(super) fn sequential_coefficients(
        &mut self,
        component: usize,
        (dc, ac): (&HuffmanTable, &HuffmanTable),
        block: &mut Coefficients,
    ) -> Result<(), PictureError> {
        block[0] = self.next_dc(component, dc)? as i16;
        let mut at = 1_usize;
        while at < 64 {
            let step = ac.coefficient(&mut self.bits)?;
            at += usize::from(step.skip);
            if step.value != 0 {
                let Some(&natural) = ZIGZAG.get(at) else { return Err(malformed("a block has too many coefficients")) };
                block[usize::from(natural)] = step.value;
                at += 1;
            }
        }
        Ok(())
    }

    #[inline]
    fn next_dc(&mut self, component: usize, table: &HuffmanTable) -> Result<i32, PictureError> {
        self.bits.prepare();
        let size = table.symbol(&mut self.bits)?;
        if size > 11 {
            return Err(malformed("a DC difference is too large"));
        }
        let difference = self.bits.take_signed(size.into());
        let prediction = &mut self.predictions[component & 3];
        // Of 16 bits, so that damaged data cannot grow without end.
        *prediction = i32::from((*prediction + difference) as i16);
        Ok(*prediction)
    }

    /// A block of a progressive scan.
    pub(super) fn progressive_block(
        &mut self,
        component: usize,
        scan: &ScanHeader,
        tables: (Option<&HuffmanTable>, Option<&HuffmanTable>),
        block: &mut Coefficients,
    ) -> Result<(), PictureError> {
        let (before, now) = scan.bits;
        match (scan.band.0, before) {
            (0, 0) => {
                let table = tables.0.ok_or(malformed("a Huffman table is missing"))?;
                block[0] = (self.next_dc(component, table)? << now) as i16;
            }
            (0, _) => {
                if self.bits.take_bit() {
                    block[0] |= 1 << now;
                }
            }
            (_, 0) => self.first_ac(scan, tables.1.ok_or(malformed("a Huffman table is missing"))?, block)?,
            _ => self.refined_ac(scan, tables.1.ok_or(malformed("a Huffman table is missing"))?, block)?,
        }
        Ok(())
    }

    fn first_ac(&mut self, scan: &ScanHeader, table: &HuffmanTable, block: &mut Coefficients) -> Result<(), PictureError> {
        if self.end_of_band_run > 0 {
            self.end_of_band_run -= 1;
            return Ok(());
        }
        let (mut at, last) = scan.band;
        while at <= last {
            self.bits.prepare();
            let symbol = table.symbol(&mut self.bits)?;
            let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if size > 0 {
                at += run as usize;
                let value = self.bits.take_signed(size) << scan.bits.1;
                let Some(&natural) = ZIGZAG.get(at) else { return Err(malformed("a block has too many coefficients")) };
                block[usize::from(natural)] = value as i16;
                at += 1;
            } else if run == 15 {
                at += 16;
            } else {
                self.end_of_band_run = (1 << run) - 1 + self.bits.take(run);
                break;
            }
        }
        Ok(())
    }

    fn refined_ac(&mut self, scan: &ScanHeader, table: &HuffmanTable, block: &mut Coefficients) -> Result<(), PictureError> {
        let (mut at, last) = scan.band;
        let step = 1_i16 << scan.bits.1;
        while at <= last && self.end_of_band_run == 0 {
            self.bits.prepare();
            let symbol = table.symbol(&mut self.bits)?;
            let (mut run, size) = (u32::from(symbol >> 4), symbol & 15);
            let mut value = 0;
            if size > 0 {
                value = if self.bits.take_bit() { step } else { -step };
            } else if run < 15 {
                self.end_of_band_run = (1 << run) + self.bits.take(run);
                break;
            }
            // Past `run` zeros, refining what is on the way, to the zero that gets the value.
            while at <= last {
                let coefficient = &mut block[usize::from(ZIGZAG[at & 63])];
                at += 1;
                if *coefficient != 0 {
                    refine(coefficient, step, &mut self.bits);
                } else if run == 0 {
                    *coefficient = value;
                    break;
                } else {
                    run -= 1;
                }
            }
        }
        if self.end_of_band_run > 0 {
            for &natural in &ZIGZAG[at.min(last + 1)..=last] {
                let coefficient = &mut block[usize::from(natural)];
                if *coefficient != 0 {
                    refine(coefficient, step, &mut self.bits);
                }
            }
            self.end_of_band_run -= 1;
        }
        Ok(())
    }
}

fn refine(coefficient: &mut i16, step: i16, bits: &mut BitReader<'_>) {
    if bits.take_bit() && *coefficient & step == 0 {
        *coefficient = coefficient.wrapping_add(if *coefficient > 0 { step } else { -step });
    }
}

/// The two tables of a part of a sequential scan.
pub(super) fn sequential_tables(
    tables: &Tables,
    (_, dc, ac): (usize, usize, usize),
) -> Result<(&HuffmanTable, &HuffmanTable), PictureError> {
    let missing = || malformed("a Huffman table is missing");
    Ok((tables.dc[dc].as_ref().ok_or_else(missing)?, tables.ac[ac].as_ref().ok_or_else(missing)?))
}
