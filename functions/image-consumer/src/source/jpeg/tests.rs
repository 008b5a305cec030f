//! The decoder against another one, and against files that are cut, damaged or made to do harm.

use std::{fs, path::Path};

use image::{ImageFormat, RgbImage};
use proptest::prelude::*;

use super::*;

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn decoded(data: &[u8], scale: Scale) -> Result<RgbImage, PictureError> {
    let header = Header::read(data)?;
    let picture = decode(data, &header, Reduction { scale, factor: 1 }, &Cancel::default())?.picture;
    assert_eq!(picture.dimensions(), (scale.of(header.width), scale.of(header.height)));
    Ok(RgbImage::from_raw(picture.width, picture.height, picture.pixels).unwrap())
}

/// A picture with soft shapes, as photographs have.
fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let wave = |a: f32, b: f32| (127.0 + 120.0 * (x as f32 * a + y as f32 * b).sin()) as u8;
        image::Rgb([wave(0.05, 0.02), wave(0.01, 0.06), wave(-0.03, 0.04)])
    })
}

fn encoded(picture: &RgbImage) -> Vec<u8> {
    let mut file = Vec::new();
    picture.write_with_encoder(image::codecs::jpeg::JpegEncoder::new_with_quality(&mut file, 92)).unwrap();
    file
}

/// The file with its frame header changed: marker, precision, height and width.
fn with_frame(mut file: Vec<u8>, change: impl FnOnce(&mut u8, &mut [u8])) -> Vec<u8> {
    let at = file.windows(4).position(|bytes| matches!(bytes, [0xff, 0xc0 | 0xc2, 0, 11 | 17 | 20])).unwrap();
    let (marker, rest) = file[at + 1..].split_first_mut().unwrap();
    change(marker, &mut rest[2..]);
    file
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
fn every_kind_looks_as_it_does_to_others() {
    for name in [
        "chroma_422.jpg",
        "cmyk_profile.jpg",
        "gray.jpg",
        "gray_progressive.jpg",
        "progressive.jpg",
        "progressive_444.jpg",
        "restart_420.jpg",
    ] {
        let file = fixture(name);
        let by_others = image::load_from_memory_with_format(&file, ImageFormat::Jpeg).unwrap().to_rgb8();
        let difference = mean_difference(&by_others, &decoded(&file, Scale::Full).unwrap());
        assert!(difference < 1.5, "{name}: {difference}");
    }
}

#[test]
fn inks_are_inverted_when_adobe_wrote_them() {
    let file = fixture("cmyk.jpg");
    for scale in [Scale::Full, Scale::Quarter] {
        let red = decoded(&file, scale).unwrap();
        assert!(red.pixels().all(|pixel| pixel[0] > 250 && pixel[1] < 5 && pixel[2] < 5), "{:?}", red.get_pixel(0, 0));
    }
    let adobe = file.windows(5).position(|bytes| bytes == b"Adobe").unwrap();
    let mut by_others = file;
    by_others[adobe] = b'a';
    let inverted = decoded(&by_others, Scale::Full).unwrap();
    assert!(inverted.pixels().all(|pixel| pixel.0.iter().all(|value| *value < 5)), "{:?}", inverted.get_pixel(0, 0));
}

#[test]
fn a_reduced_scale_is_the_same_picture_smaller() {
    let original = picture(203, 151);
    let file = encoded(&original);
    for scale in [Scale::Half, Scale::Quarter, Scale::Eighth] {
        let difference = mean_difference(&shrunk(&original, scale), &decoded(&file, scale).unwrap());
        assert!(difference < 2.0, "{scale:?}: {difference}");
    }
}

#[test]
fn the_longest_side_decides_on_the_scale() {
    for (width, height) in [(300, 1), (1, 300), (9, 200), (200, 9)] {
        for scale in [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth] {
            decoded(&encoded(&picture(width, height)), scale).unwrap();
        }
    }
}

#[test]
fn data_that_end_anywhere_are_an_error_and_never_a_picture() {
    assert_eq!(decoded(&fixture("truncated.jpg"), Scale::Half).unwrap_err(), truncated());
    for file in [encoded(&picture(64, 48)), fixture("progressive.jpg"), fixture("gray.jpg")] {
        for end in 0..file.len() {
            assert_eq!(decoded(&file[..end], Scale::Eighth).unwrap_err(), truncated(), "cut at {end} of {}", file.len());
        }
    }
}

#[test]
fn a_cut_file_with_an_end_marker_put_behind_it_is_truncated() {
    let plain = encoded(&picture(64, 48));
    let files = [
        ("plain", plain),
        ("gray.jpg", fixture("gray.jpg")),
        ("chroma_422.jpg", fixture("chroma_422.jpg")),
        ("restart_420.jpg", fixture("restart_420.jpg")),
    ];
    for (name, file) in files {
        decoded(&file, Scale::Full).unwrap();
        let scan = file.windows(2).rposition(|bytes| bytes == [0xff, 0xda]).unwrap();
        let data = scan + 2 + usize::from(file[scan + 3]);
        // The last codes of a scan may be shorter than what the cut leaves of them.
        for end in data..file.len() - 6 {
            let cut = [&file[..end], &[0xff, 0xd9]].concat();
            assert_eq!(decoded(&cut, Scale::Eighth).err(), Some(truncated()), "{name}: cut at {end} of {}", file.len());
        }
    }
}

#[test]
fn what_may_stand_before_an_end_marker_is_no_sign_of_a_cut() {
    for name in ["gray.jpg", "progressive.jpg", "restart_420.jpg"] {
        let file = fixture(name);
        let end = file.windows(2).rposition(|bytes| bytes == [0xff, 0xd9]).unwrap();
        for filling in [&[0xff][..], &[0xff; 9], &[0; 9], &[0xff, 0xd0]] {
            let filled = [&file[..end], filling, &file[end..]].concat();
            assert_eq!(decoded(&filled, Scale::Half), decoded(&file, Scale::Half), "{name} with {filling:?}");
        }
    }
}

#[test]
fn what_is_not_read_is_refused_by_its_header() {
    let file = encoded(&picture(16, 16));
    for marker in [0xc3, 0xc5, 0xc7, 0xc9, 0xca, 0xcb, 0xcf] {
        let error = Header::read(&with_frame(file.clone(), |old, _| *old = marker)).err();
        assert!(matches!(error, Some(PictureError::Unsupported { .. })), "{marker:x}: {error:?}");
    }
    for precision in [2, 12, 16] {
        let error = Header::read(&with_frame(file.clone(), |_, frame| frame[0] = precision)).err();
        assert_eq!(error, Some(PictureError::Unsupported { what: "a JPEG of more than 8 bits" }));
    }
    let error = Header::read(&with_frame(file.clone(), |_, frame| frame[1..3].fill(0))).err();
    assert_eq!(error, Some(PictureError::Unsupported { what: "a JPEG that tells its height at its end" }));
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let bomb = with_frame(encoded(&picture(16, 16)), |_, frame| frame[1..5].fill(0xff));
    let error = Source::inspect(&bomb, 100_000_000).err();
    assert_eq!(error, Some(PictureError::TooManyPixels { pixels: 65_535 * 65_535, limit: 100_000_000 }));

    let mut scans = fixture("progressive.jpg");
    let end = scans.len() - 2;
    let empty_scan = [0xff, 0xda, 0, 8, 1, 1, 0, 1, 5, 0];
    scans.splice(end..end, empty_scan.repeat(100));
    assert_eq!(Header::read(&scans).err(), Some(malformed("it has more than 100 scans")));
}

#[test]
fn memory_is_known_before_decoding() {
    const MB: u64 = 1024 * 1024;
    let sized = |name: &str| with_frame(fixture(name), |_, frame| frame[1..5].copy_from_slice(&[0x0f, 0xa0, 0x17, 0x70]));
    let bytes = |name: &str, scale| Header::read(&sized(name)).unwrap().decoding_bytes(scale) / MB;
    // Of 6000 × 4000 pixels with halved chroma: 69 MB of coefficients, and for progressive files a copy.
    assert_eq!(bytes("restart_420.jpg", Scale::Eighth), 70);
    assert_eq!(bytes("restart_420.jpg", Scale::Full), 172);
    assert_eq!(bytes("progressive.jpg", Scale::Eighth), 139);
}

#[test]
fn work_that_is_called_off_yields_nothing() {
    let file = encoded(&picture(64, 64));
    let cancel = Cancel::default();
    cancel.cancel();
    let answer = decode(&file, &Header::read(&file).unwrap(), Reduction { scale: Scale::Full, factor: 1 }, &cancel);
    assert_eq!(answer.unwrap_err(), PictureError::Cancelled);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_files_never_panic(
        name in prop::sample::select(vec!["progressive.jpg", "restart_420.jpg", "cmyk.jpg", "gray_progressive.jpg"]),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut file = fixture(name);
        for (place, value) in places {
            let place = place.index(file.len());
            file[place] = value;
        }
        let small = |data: &[u8]| Source::inspect(data, 1_000_000).is_ok();
        if small(&file) {
            let _ = decoded(&file, Scale::Full);
            let _ = decoded(&file, Scale::Quarter);
        }
    }

    #[test]
    fn any_bytes_behind_a_start_of_image_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = vec![0xff, 0xd8];
        file.extend(bytes);
        file.extend([0xff, 0xd9]);
        if let Ok(source) = Source::inspect(&file, 1_000_000) {
            let _ = source.decode(&file, source.reduction(8), &Cancel::default());
        }
    }
}
