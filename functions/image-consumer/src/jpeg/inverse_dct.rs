//! Blocks of coefficients to blocks of samples, at the scale that is wanted.
//!
//! A block at 1/2, 1/4 or 1/8 is the inverse transform of its lowest 4 × 4, 2 × 2 or single coefficient: what a filter would make of the
//! full block, for a fraction of the work. The 8-point transform is Arai, Agui and Nakajima's; its scale factors are folded into the
//! quantization table. Blocks are kept column by column, so that one transposition between the two passes is enough.

use std::f32::consts::SQRT_2;

use super::{header::Quantization, malformed};
use crate::picture_error::PictureError;

/// The scale factors of Arai, Agui and Nakajima: cos(kπ/16)·√2, and 1 for k = 0.
pub(super) const AAN: [f32; 8] = [1.0, 1.387_039_8, 1.306_563, 1.175_875_6, 1.0, 0.785_694_96, 0.541_196_1, 0.275_899_38];

/// From the position in zigzag order to the place in a block that is kept column by column.
pub(super) const ZIGZAG_BY_COLUMNS: [u8; 64] = {
    let mut table = [0; 64];
    let mut at = 0;
    while at < 64 {
        table[at] = transposed(super::ZIGZAG[at]);
        at += 1;
    }
    table
};

const fn transposed(natural: u8) -> u8 {
    (natural % 8) * 8 + natural / 8
}

/// What the coefficients of a component are multiplied by, column by column, for blocks of this side.
pub(super) fn factors(quantization: &Quantization, side: u32) -> [f32; 64] {
    std::array::from_fn(|at| {
        let (column, row) = (at / 8, at % 8);
        let quantum = f32::from(quantization[row * 8 + column]);
        match side {
            8 => quantum * AAN[row] * AAN[column] / 8.0,
            // An orthonormal transform of n points keeps the mean when its input is scaled by n/8.
            side => quantum * side as f32 / 8.0,
        }
    })
}

/// Reconstructs a block of `side` × `side` samples into rows of `stride` bytes. `last` is the last zigzag position that has a value.
#[inline]
pub(super) fn reconstruct(
    block: &[f32; 64],
    last: usize,
    side: u32,
    samples: &mut [u8],
    stride: usize,
) -> Result<(), PictureError> {
    let end = (side as usize - 1) * stride + side as usize;
    let samples = samples.get_mut(..end).ok_or(malformed("a block lies outside of the frame"))?;
    match side {
        _ if last == 0 => flat(block[0], side, samples, stride),
        8 => eight(block, samples, stride),
        4 => four(block, samples, stride),
        2 => two(block, samples, stride),
        _ => samples[0] = sample(block[0]),
    }
    Ok(())
}

/// Only the mean has a value.
fn flat(mean: f32, side: u32, samples: &mut [u8], stride: usize) {
    // The mean of the 8-point transform needs no more scaling; an orthonormal one of n × n points divides by n.
    let value = sample(if side == 8 { mean } else { mean / side as f32 });
    for row in samples.chunks_mut(stride) {
        row[..side as usize].fill(value);
    }
}

fn eight(block: &[f32; 64], samples: &mut [u8], stride: usize) {
    let columns: [[f32; 8]; 8] = std::array::from_fn(|column| lanes(block, column * 8));
    let across = eight_points(columns);
    let rows: [[f32; 8]; 8] = std::array::from_fn(|row| std::array::from_fn(|column| across[column][row]));
    for (row, values) in samples.chunks_mut(stride).zip(eight_points(rows)) {
        store(&values, row);
    }
}

fn four(block: &[f32; 64], samples: &mut [u8], stride: usize) {
    let columns: [[f32; 4]; 4] = std::array::from_fn(|column| lanes(block, column * 8));
    let across = four_points(columns);
    let rows: [[f32; 4]; 4] = std::array::from_fn(|row| std::array::from_fn(|column| across[column][row]));
    for (row, values) in samples.chunks_mut(stride).zip(four_points(rows)) {
        store(&values, row);
    }
}

fn two(block: &[f32; 64], samples: &mut [u8], stride: usize) {
    let (mean, down, across, both) = (block[0], block[1], block[8], block[9]);
    let (top, bottom) = samples.split_at_mut(stride);
    store(&[(mean + down + across + both) / 2.0, (mean + down - across - both) / 2.0], top);
    store(&[(mean - down + across - both) / 2.0, (mean - down - across + both) / 2.0], bottom);
}

#[inline(always)]
fn lanes<const N: usize>(block: &[f32; 64], from: usize) -> [f32; N] {
    std::array::from_fn(|at| block[from + at])
}

#[inline(always)]
fn add<const N: usize>(a: [f32; N], b: [f32; N]) -> [f32; N] {
    std::array::from_fn(|at| a[at] + b[at])
}

#[inline(always)]
fn sub<const N: usize>(a: [f32; N], b: [f32; N]) -> [f32; N] {
    std::array::from_fn(|at| a[at] - b[at])
}

#[inline(always)]
fn mul<const N: usize>(a: [f32; N], factor: f32) -> [f32; N] {
    std::array::from_fn(|at| a[at] * factor)
}

/// The 8-point inverse transform over the first index, lane by lane.
#[inline(always)]
fn eight_points(x: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
    let (sum04, difference04) = (add(x[0], x[4]), sub(x[0], x[4]));
    let sum26 = add(x[2], x[6]);
    let turned26 = sub(mul(sub(x[2], x[6]), SQRT_2), sum26);
    let (even0, even3) = (add(sum04, sum26), sub(sum04, sum26));
    let (even1, even2) = (add(difference04, turned26), sub(difference04, turned26));

    let (sum53, difference53) = (add(x[5], x[3]), sub(x[5], x[3]));
    let (sum17, difference17) = (add(x[1], x[7]), sub(x[1], x[7]));
    let odd0 = add(sum17, sum53);
    let turned = mul(add(difference53, difference17), 1.847_759);
    let odd1 = sub(sub(turned, mul(difference53, 2.613_126)), odd0);
    let odd2 = sub(mul(sub(sum17, sum53), SQRT_2), odd1);
    let odd3 = sub(sub(turned, mul(difference17, 1.082_392_2)), odd2);

    [
        add(even0, odd0),
        add(even1, odd1),
        add(even2, odd2),
        add(even3, odd3),
        sub(even3, odd3),
        sub(even2, odd2),
        sub(even1, odd1),
        sub(even0, odd0),
    ]
}

/// The orthonormal 4-point inverse transform over the first index, lane by lane.
#[inline(always)]
fn four_points(x: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    // √½·cos(π/8) and √½·cos(3π/8).
    const LONG: f32 = 0.653_281_5;
    const SHORT: f32 = 0.270_598_05;
    let (even0, even1) = (mul(add(x[0], x[2]), 0.5), mul(sub(x[0], x[2]), 0.5));
    let odd0 = add(mul(x[1], LONG), mul(x[3], SHORT));
    let odd1 = sub(mul(x[1], SHORT), mul(x[3], LONG));
    [add(even0, odd0), add(even1, odd1), sub(even1, odd1), sub(even0, odd0)]
}

#[inline(always)]
fn store<const N: usize>(values: &[f32; N], row: &mut [u8]) {
    let bytes: [u8; N] = std::array::from_fn(|at| sample(values[at]));
    row[..N].copy_from_slice(&bytes);
}

/// A sample around zero to a byte.
#[inline(always)]
fn sample(value: f32) -> u8 {
    to_byte(value + 128.0)
}

/// Rounds and clamps. Adding 1.5·2²³ leaves the rounded value in the lowest bits, which compilers turn into vector code as they do not
/// with a cast.
#[inline(always)]
pub(super) fn to_byte(value: f32) -> u8 {
    (value.clamp(0.0, 255.0) + 12_582_912.0).to_bits() as u8
}

#[cfg(test)]
mod tests {
    use std::f32::consts::PI;

    use super::*;

    /// Coefficients by zigzag position.
    fn naive(coefficients: &[(usize, f32)], side: usize) -> Vec<u8> {
        let norm = |k: usize| if k == 0 { (1.0 / side as f32).sqrt() } else { (2.0 / side as f32).sqrt() };
        let mut samples = Vec::new();
        for y in 0..side {
            for x in 0..side {
                let mut sum = 0.0;
                for &(at, value) in coefficients {
                    let natural = usize::from(super::super::ZIGZAG[at]);
                    let (row, column) = (natural / 8, natural % 8);
                    if row < side && column < side {
                        let wave = |n: usize, k: usize| norm(k) * ((2 * n + 1) as f32 * k as f32 * PI / (2 * side) as f32).cos();
                        sum += value * wave(y, row) * wave(x, column) * side as f32 / 8.0;
                    }
                }
                samples.push((sum + 128.0).round().clamp(0.0, 255.0) as u8);
            }
        }
        samples
    }

    #[test]
    fn every_side_is_the_transform_of_its_definition() {
        let coefficients =
            [(0, 200.0), (1, -90.0), (2, 60.0), (3, 33.0), (4, 41.0), (7, -25.0), (12, 30.0), (24, -12.0), (40, 9.0), (63, 14.0)];
        for side in [8_u32, 4, 2, 1] {
            for used in [1, 3, coefficients.len()] {
                let factors = factors(&[1; 64], side);
                let mut block = [0.0; 64];
                for &(at, value) in &coefficients[..used] {
                    let place = usize::from(ZIGZAG_BY_COLUMNS[at]);
                    block[place] = value * factors[place];
                }
                let mut samples = vec![0; (side * side) as usize];
                reconstruct(&block, coefficients[used - 1].0, side, &mut samples, side as usize).unwrap();
                let expected = naive(&coefficients[..used], side as usize);
                let worst = samples.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(worst <= Some(1), "side {side}, {used} coefficients: {samples:?} {expected:?}");
            }
        }
    }

    #[test]
    fn bytes_are_rounded_and_clamped() {
        assert_eq!([-3.0, 0.4, 0.6, 127.5, 254.4, 255.2, 1e9, f32::NEG_INFINITY].map(to_byte), [0, 0, 1, 128, 254, 255, 255, 0]);
    }
}
