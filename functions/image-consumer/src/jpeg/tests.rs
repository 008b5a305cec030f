//! The decoder and the encoder against each other and against zune-jpeg (by way of `image`).

use image::{ImageFormat, RgbImage};
use proptest::prelude::*;

use super::*;
use crate::cancel::Cancel;

fn decoded(data: &[u8], scale: Scale) -> Result<RgbImage, PictureError> {
    let header = read_header(data)?;
    let (width, height) = header.dimensions();
    let mut pixels = Vec::new();
    decode(data, header, scale, &Cancel::default(), &mut |row| {
        pixels.extend_from_slice(row);
        Ok(())
    })?;
    Ok(RgbImage::from_raw(scale.of(width), scale.of(height), pixels).expect("as many pixels as the frame says"))
}

/// A picture with soft shapes, as photographs have.
fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let wave = |a: f32, b: f32| (127.0 + 120.0 * (x as f32 * a + y as f32 * b).sin()) as u8;
        image::Rgb([wave(0.05, 0.02), wave(0.01, 0.06), wave(-0.03, 0.04)])
    })
}

fn encoded(picture: &RgbImage, quality: u8) -> Vec<u8> {
    encode(picture.as_raw(), picture.dimensions(), quality, &Cancel::default()).unwrap()
}

fn mean_difference(a: &RgbImage, b: &RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let sum: u64 = a.as_raw().iter().zip(b.as_raw()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.as_raw().len() as f64
}

fn shrunk(picture: &RgbImage, scale: Scale) -> RgbImage {
    let (width, height) = picture.dimensions();
    let side = 8 / scale.block_side();
    RgbImage::from_fn(scale.of(width), scale.of(height), |x, y| {
        let places = (0..side * side).map(|at| ((x * side + at % side).min(width - 1), (y * side + at / side).min(height - 1)));
        let sums = places.fold([0; 3], |sums: [u32; 3], (x, y)| std::array::from_fn(|c| sums[c] + u32::from(picture[(x, y)][c])));
        image::Rgb(sums.map(|sum| (sum / (side * side)) as u8))
    })
}

#[test]
fn what_is_encoded_is_decoded_by_others_and_by_us() {
    for (width, height) in [(1, 1), (7, 3), (16, 16), (17, 33), (200, 151)] {
        let original = picture(width, height);
        let file = encoded(&original, 92);
        let by_others = image::load_from_memory_with_format(&file, ImageFormat::Jpeg).unwrap().to_rgb8();
        assert!(mean_difference(&original, &by_others) < 3.0, "{width}×{height}: {}", mean_difference(&original, &by_others));
        let difference = mean_difference(&by_others, &decoded(&file, Scale::Full).unwrap());
        // They stretch chroma in both directions, we across alone.
        assert!(difference < 1.5, "{width}×{height}: {difference}");
    }
}

#[test]
fn quality_is_a_matter_of_bytes() {
    let original = picture(300, 200);
    let sizes = [10, 50, 80, 100].map(|quality| encoded(&original, quality).len());
    assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
}

#[test]
fn a_reduced_scale_is_the_same_picture_smaller() {
    let original = picture(203, 151);
    let file = encoded(&original, 95);
    for scale in [Scale::Half, Scale::Quarter, Scale::Eighth] {
        let difference = mean_difference(&shrunk(&original, scale), &decoded(&file, scale).unwrap());
        assert!(difference < 2.0, "{scale:?}: {difference}");
    }
}

#[test]
fn data_that_end_anywhere_are_an_error_and_never_a_picture() {
    let file = encoded(&picture(64, 48), 80);
    for end in 0..file.len() - 2 {
        assert!(decoded(&file[..end], Scale::Half).is_err(), "cut at {end} of {}", file.len());
    }
}

#[test]
fn a_scan_for_each_component_is_the_same_picture() {
    for (width, height) in [(70, 45), (16, 16), (9, 31)] {
        let original = picture(width, height);
        let file = super::encoder::tests::encode_in_three_scans(original.as_raw(), (width, height), 80);
        for scale in [Scale::Full, Scale::Half, Scale::Eighth] {
            assert_eq!(decoded(&file, scale).unwrap(), decoded(&encoded(&original, 80), scale).unwrap(), "{width}×{height}");
        }
        let two_scans = file.windows(2).rposition(|window| window == [0xff, 0xda]).unwrap();
        assert!(decoded(&[&file[..two_scans], &[0xff, 0xd9]].concat(), Scale::Full).is_err(), "a component is missing");
        assert!(decoded(&file[..file.len() - 2], Scale::Full).is_err(), "nobody knows how many scans are missing");
    }
}

#[test]
fn work_that_is_called_off_ends_with_the_next_row_of_units() {
    let file = encoded(&picture(64, 64), 80);
    let cancel = Cancel::default();
    let mut rows = 0;
    let answer = decode(&file, read_header(&file).unwrap(), Scale::Full, &cancel, &mut |_| {
        rows += 1;
        cancel.cancel();
        Ok(())
    });
    assert_eq!((answer, rows), (Err(PictureError::Cancelled), 16));
    let picture = picture(64, 64);
    assert_eq!(encode(picture.as_raw(), (64, 64), 80, &cancel), Err(PictureError::Cancelled));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_files_never_panic(place in any::<prop::sample::Index>(), value in any::<u8>(), end in any::<prop::sample::Index>()) {
        let mut file = encoded(&picture(40, 24), 70);
        let place = place.index(file.len());
        file[place] = value;
        let _ = decoded(&file, Scale::Full);
        let _ = decoded(&file, Scale::Quarter);
        file.truncate(end.index(file.len()));
        let _ = decoded(&file, Scale::Eighth);
    }

    #[test]
    fn any_bytes_behind_a_start_of_image_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = vec![0xff, 0xd8];
        file.extend(bytes);
        let _ = decoded(&file, Scale::Full);
    }
}
