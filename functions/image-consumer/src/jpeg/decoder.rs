//! From a header to rows of pixels.

use super::{
    band::Band,
    frame::{Component, Scale},
    header::{Header, Quantization, Segments, Tables},
    inverse_dct::{factors, reconstruct},
    malformed,
    scan::{Coefficients, ScanHeader, ScanState, sequential_tables},
    truncated,
};
use crate::{cancel::Cancel, picture_error::PictureError};

/// Most scans of one file. Encoders write about ten; each scan costs a pass over the whole frame, whatever it holds.
const MAX_SCANS: usize = 100;

/// Decodes a picture and hands its rows out, top down, in RGB.
///
/// # Errors
/// When the data end before the last pixel, break a rule, or the work was called off; whatever the sink answers.
pub(crate) fn decode(
    data: &[u8],
    header: Header,
    scale: Scale,
    cancel: &Cancel,
    sink: &mut impl FnMut(&[u8]) -> Result<(), PictureError>,
) -> Result<(), PictureError> {
    let band = Band::new(&header.frame, header.colors, scale);
    if header.is_buffered() {
        let coefficients = Buffered::read(data, header, cancel)?;
        coefficients.reconstruct(band, cancel, sink)
    } else {
        stream(data, &header, band, cancel, sink)
    }
}

/// One sequential scan with all components: each row of units is handed out as soon as it is read.
fn stream(
    data: &[u8],
    header: &Header,
    mut band: Band,
    cancel: &Cancel,
    sink: &mut impl FnMut(&[u8]) -> Result<(), PictureError>,
) -> Result<(), PictureError> {
    let (frame, tables) = (&header.frame, &header.tables);
    let mut segments = Segments { data, position: header.first_scan };
    let scan = ScanHeader::read(segments.next()?.1, frame)?;
    let mut parts = Vec::new();
    for &part in &scan.parts {
        let component = frame.components[part.0];
        let side = band.planes[part.0].block_side;
        let factors = factors(quantization(tables, component)?, side);
        parts.push((part.0, component, sequential_tables(tables, part)?, factors));
    }
    let mut state = ScanState::new(data, segments.position, tables.restart_interval);
    let (across, down) = frame.units();
    for _ in 0..down {
        cancel.check()?;
        for unit in 0..across {
            state.begin_unit()?;
            for (index, component, huffman, factors) in &parts {
                let plane = &mut band.planes[*index];
                for row in 0..component.v {
                    for column in 0..component.h {
                        let mut block = [0.0; 64];
                        let last = state.sequential_block(*index, *huffman, factors, &mut block)?;
                        let offset = plane.offset(unit * component.h + column, row);
                        let samples = plane.samples.get_mut(offset..).unwrap_or_default();
                        reconstruct(&block, last, plane.block_side, samples, plane.stride)?;
                    }
                }
            }
        }
        state.bits.check()?;
        band.emit(sink)?;
    }
    Ok(())
}

/// All coefficients of a picture whose components or bits come in several scans.
struct Buffered {
    header: Header,
    planes: Vec<Vec<Coefficients>>,
    /// The tables in force when a component was first seen (T.81, B.2.4.1, forbids to change them after).
    quantization: Vec<Option<Quantization>>,
}

impl Buffered {
    fn read(data: &[u8], header: Header, cancel: &Cancel) -> Result<Self, PictureError> {
        let planes = header.frame.components.iter().map(|component| {
            let (across, down) = header.frame.padded_blocks(component);
            vec![[0; 64]; across as usize * down as usize]
        });
        let mut buffered = Self { planes: planes.collect(), quantization: vec![None; header.frame.components.len()], header };
        let mut segments = Segments { data, position: buffered.header.first_scan };
        let mut scans = 0;
        loop {
            match segments.next()? {
                (0xda, body) => {
                    scans += 1;
                    if scans > MAX_SCANS {
                        return Err(malformed("it has more than 100 scans"));
                    }
                    segments.position = buffered.read_scan(data, body, segments.position, cancel)?;
                }
                // The end has to be there: without it nobody knows how many scans are missing.
                (0xd9, _) => break,
                (marker, body) => buffered.header.tables.apply(marker, body)?,
            }
        }
        if buffered.quantization.iter().any(Option::is_none) {
            return Err(truncated());
        }
        Ok(buffered)
    }

    /// Reads one scan; returns where it ends.
    fn read_scan(&mut self, data: &[u8], body: &[u8], position: usize, cancel: &Cancel) -> Result<usize, PictureError> {
        let Self { header, planes, quantization: known } = self;
        let (frame, tables) = (&header.frame, &header.tables);
        let scan = ScanHeader::read(body, frame)?;
        for &(index, _, _) in &scan.parts {
            if known[index].is_none() {
                known[index] = Some(*quantization(tables, frame.components[index])?);
            }
        }
        let mut state = ScanState::new(data, position, tables.restart_interval);
        // A scan of one component has its own blocks one by one (T.81, A.2.2).
        let single = match scan.parts[..] {
            [(index, _, _)] => Some(frame.own_blocks(&frame.components[index])),
            _ => None,
        };
        let (across, down) = single.unwrap_or(frame.units());
        for unit_row in 0..down {
            cancel.check()?;
            for unit in 0..across {
                state.begin_unit()?;
                for &part in &scan.parts {
                    let component = frame.components[part.0];
                    let stride = frame.padded_blocks(&component).0;
                    let (h, v) = if single.is_some() { (1, 1) } else { (component.h, component.v) };
                    for row in 0..v {
                        for column in 0..h {
                            let at = (unit_row * v + row) * stride + unit * h + column;
                            let block =
                                planes[part.0].get_mut(at as usize).ok_or(malformed("a block lies outside of the frame"))?;
                            if frame.is_progressive {
                                let tables = (tables.dc[part.1].as_ref(), tables.ac[part.2].as_ref());
                                state.progressive_block(part.0, &scan, tables, block)?;
                            } else {
                                state.sequential_coefficients(part.0, sequential_tables(tables, part)?, block)?;
                            }
                        }
                    }
                }
            }
            state.bits.check()?;
        }
        state.bits.finish()
    }

    fn reconstruct(
        self,
        mut band: Band,
        cancel: &Cancel,
        sink: &mut impl FnMut(&[u8]) -> Result<(), PictureError>,
    ) -> Result<(), PictureError> {
        let frame = &self.header.frame;
        let parts: Vec<(Component, [f32; 64])> = frame
            .components
            .iter()
            .zip(&self.quantization)
            .zip(&band.planes)
            .map(|((component, table), plane)| (*component, factors(table.as_ref().unwrap_or(&[1; 64]), plane.block_side)))
            .collect();
        for unit_row in 0..frame.units().1 {
            cancel.check()?;
            for (((component, factors), blocks), plane) in parts.iter().zip(&self.planes).zip(&mut band.planes) {
                let across = frame.padded_blocks(component).0;
                for row in 0..component.v {
                    for column in 0..across {
                        let coefficients = &blocks[((unit_row * component.v + row) * across + column) as usize];
                        let (block, last) = multiplied(coefficients, factors);
                        let offset = plane.offset(column, row);
                        let samples = plane.samples.get_mut(offset..).unwrap_or_default();
                        reconstruct(&block, last, plane.block_side, samples, plane.stride)?;
                    }
                }
            }
            band.emit(sink)?;
        }
        Ok(())
    }
}

/// The block column by column; and 0 when only the mean has a value.
fn multiplied(coefficients: &Coefficients, factors: &[f32; 64]) -> ([f32; 64], usize) {
    let block = std::array::from_fn(|at| f32::from(coefficients[(at % 8) * 8 + at / 8]) * factors[at]);
    let is_flat = coefficients[1..].iter().all(|&coefficient| coefficient == 0);
    (block, if is_flat { 0 } else { 63 })
}

fn quantization(tables: &Tables, component: Component) -> Result<&Quantization, PictureError> {
    tables.quantization[component.table].as_ref().ok_or(malformed("a quantization table is missing"))
}
