//! Blocks of samples to blocks of coefficients: the 8-point transform of Arai, Agui and Nakajima, whose scale factors are folded into the
//! divisors.

use std::f32::consts::FRAC_1_SQRT_2;

use super::inverse_dct::AAN;

/// What the coefficients are multiplied by to be quantized, column by column.
pub(super) fn quantizers(quantization: &[u8; 64]) -> [f32; 64] {
    std::array::from_fn(|at| {
        let (column, row) = (at / 8, at % 8);
        1.0 / (f32::from(quantization[row * 8 + column]) * AAN[row] * AAN[column] * 8.0)
    })
}

/// Transforms a block of samples around zero, row by row, and quantizes it. The coefficients are column by column.
pub(super) fn transform(rows: [[f32; 8]; 8], quantizers: &[f32; 64]) -> [i16; 64] {
    let down = eight_points(rows);
    let columns: [[f32; 8]; 8] = std::array::from_fn(|column| std::array::from_fn(|row| down[row][column]));
    let both = eight_points(columns);
    std::array::from_fn(|at| round(both[at / 8][at % 8] * quantizers[at]))
}

/// Rounds by way of the bits of 1.5·2²³ and more, which compilers turn into vector code.
#[inline(always)]
fn round(value: f32) -> i16 {
    ((value + 12_582_912.0).to_bits() as i32 - 12_582_912.0_f32.to_bits() as i32) as i16
}

#[inline(always)]
fn add(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
    std::array::from_fn(|at| a[at] + b[at])
}

#[inline(always)]
fn sub(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
    std::array::from_fn(|at| a[at] - b[at])
}

#[inline(always)]
fn mul(a: [f32; 8], factor: f32) -> [f32; 8] {
    std::array::from_fn(|at| a[at] * factor)
}

/// The 8-point transform over the first index, lane by lane.
#[inline(always)]
fn eight_points(x: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
    let (sum07, difference07) = (add(x[0], x[7]), sub(x[0], x[7]));
    let (sum16, difference16) = (add(x[1], x[6]), sub(x[1], x[6]));
    let (sum25, difference25) = (add(x[2], x[5]), sub(x[2], x[5]));
    let (sum34, difference34) = (add(x[3], x[4]), sub(x[3], x[4]));

    let (outer, outer_difference) = (add(sum07, sum34), sub(sum07, sum34));
    let (inner, inner_difference) = (add(sum16, sum25), sub(sum16, sum25));
    let even = mul(add(inner_difference, outer_difference), FRAC_1_SQRT_2);

    let (low, middle, high) = (add(difference34, difference25), add(difference25, difference16), add(difference16, difference07));
    let shared = mul(sub(low, high), 0.382_683_43);
    let turned_low = add(mul(low, 0.541_196_1), shared);
    let turned_high = add(mul(high, 1.306_563), shared);
    let half = mul(middle, FRAC_1_SQRT_2);
    let (near, far) = (add(difference07, half), sub(difference07, half));

    [
        add(outer, inner),
        add(near, turned_high),
        add(outer_difference, even),
        sub(far, turned_low),
        sub(outer, inner),
        add(far, turned_low),
        sub(outer_difference, even),
        sub(near, turned_high),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jpeg::inverse_dct::{factors, reconstruct};

    #[test]
    fn what_was_transformed_is_reconstructed() {
        let samples: [[f32; 8]; 8] =
            std::array::from_fn(|y| std::array::from_fn(|x| ((x * 31 + y * 17 + x * y * 5) % 200) as f32 - 100.0));
        let coefficients = transform(samples, &quantizers(&[1; 64]));
        let factors = factors(&[1; 64], 8);
        let block = std::array::from_fn(|at| f32::from(coefficients[at]) * factors[at]);
        let mut bytes = [0; 64];
        reconstruct(&block, 63, 8, &mut bytes, 8).unwrap();
        for (byte, sample) in bytes.iter().zip(samples.as_flattened()) {
            assert!((f32::from(*byte) - 128.0 - sample).abs() <= 1.5, "{byte} {sample}");
        }
    }

    #[test]
    fn coefficients_are_rounded_to_the_nearest() {
        assert_eq!([0.4, 0.6, -0.4, -0.6, 1023.2, -1024.0].map(round), [0, 1, 0, -1, 1023, -1024]);
    }
}
