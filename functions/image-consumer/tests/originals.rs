//! What originals of all kinds look like when they are pictures again.

mod scene;

use bytes::Bytes;
use ikkai::job::ImageFormat;
use image::{DynamicImage, ImageFormat as FileFormat, Rgb, RgbImage, imageops};
use image_consumer::{Cancel, Encoding, Output, PictureError, RenderSettings, Rendering};
use scene::{file, fixture, waves};

const SETTINGS: RenderSettings = RenderSettings {
    encoding: Encoding { background: [255; 3], jpeg_quality: 90, webp_quality: 90 },
    max_pixels: 10_000_000,
    enlarge: false,
};

fn outputs(original: impl Into<Bytes>, size: u32, formats: &[ImageFormat]) -> Result<Vec<Output>, PictureError> {
    Rendering::plan(original.into(), &[size], formats, &SETTINGS)?.run(&Cancel::default())
}

/// The picture in PNG, which changes no pixel.
fn rendered(original: impl Into<Bytes>, size: u32) -> DynamicImage {
    let outputs = outputs(original, size, &[ImageFormat::Png]).unwrap();
    image::load_from_memory_with_format(&outputs[0].bytes, FileFormat::Png).unwrap()
}

fn pixel(picture: &DynamicImage, x: u32, y: u32) -> [u8; 3] {
    picture.to_rgb8()[(x, y)].0
}

fn is_near(found: [u8; 3], expected: [u8; 3], tolerance: u8) -> bool {
    found.iter().zip(&expected).all(|(found, expected)| found.abs_diff(*expected) <= tolerance)
}

fn mean_difference(a: &RgbImage, b: &RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let sum: u64 = a.as_raw().iter().zip(b.as_raw()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.as_raw().len() as f64
}

#[test]
fn every_kind_of_jpeg_png_and_webp_is_the_picture_that_others_see() {
    for name in [
        "progressive.jpg",
        "progressive_444.jpg",
        "chroma_422.jpg",
        "chroma_444.jpg",
        "restart_420.jpg",
        "gray.jpg",
        "gray_progressive.jpg",
        "photo.webp",
        "photo_lossless.webp",
        "anim.webp",
        "interlaced.png",
    ] {
        let bytes = fixture(name);
        let others = image::load_from_memory(&bytes).unwrap().to_rgb8();
        let ours = rendered(bytes.clone(), 8192).to_rgb8();
        // Decoders differ in how they stretch chroma.
        assert!(mean_difference(&ours, &others) < 2.0, "{name}: {}", mean_difference(&ours, &others));
        for size in [100, 60, 30, 15] {
            let (width, height) = others.dimensions();
            let small = rendered(bytes.clone(), size).to_rgb8();
            let expected = imageops::resize(&others, small.width(), small.height(), imageops::FilterType::Lanczos3);
            assert_eq!(small.width().max(small.height()), size.min(width.max(height)));
            let difference = mean_difference(&small, &expected);
            assert!(difference < 6.0, "{name} at {size}: {difference}");
        }
    }
}

#[test]
fn a_camera_held_sideways_makes_an_upright_picture_without_exif_or_position() {
    let original = fixture("exif6_gps.jpg");
    assert!(contains(&original, b"Exif"));
    for output in outputs(original, 8192, &ImageFormat::ALL).unwrap() {
        assert_eq!((output.width, output.height), (32, 64));
        let picture = image::load_from_memory(&output.bytes).unwrap();
        assert!(is_near(pixel(&picture, 16, 5), [255, 0, 0], 40), "{:?}", pixel(&picture, 16, 5));
        for private in [&b"Exif"[..], b"EXIF", b"eXIf", b"GPS", b"II*\0", b"MM\0*", b"XML:com.adobe", b"XMP "] {
            assert!(!contains(&output.bytes, private), "{:?} in {:?}", String::from_utf8_lossy(private), output.format);
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A JPEG with an EXIF block that has this orientation.
fn oriented(picture: &RgbImage, number: u8) -> Vec<u8> {
    let jpeg = file(picture.clone(), FileFormat::Jpeg);
    let tiff = [b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".as_slice(), &[number], b"\0\0\0\0\0\0"].concat();
    let body = [b"Exif\0\0".as_slice(), &tiff].concat();
    let length = (body.len() as u16 + 2).to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &length, &body, &jpeg[2..]].concat()
}

#[test]
fn all_eight_orientations_show_the_same_picture() {
    // Quarters of four colours, wider than high.
    let upright = RgbImage::from_fn(64, 32, |x, y| Rgb([if x < 32 { 230 } else { 20 }, if y < 16 { 230 } else { 20 }, 90]));
    let stored = |number: u8| match number {
        2 => imageops::flip_horizontal(&upright),
        3 => imageops::rotate180(&upright),
        4 => imageops::flip_vertical(&upright),
        5 => imageops::rotate90(&imageops::flip_vertical(&upright)),
        6 => imageops::rotate270(&upright),
        7 => imageops::rotate90(&imageops::flip_horizontal(&upright)),
        8 => imageops::rotate90(&upright),
        _ => upright.clone(),
    };
    for number in 1..=8 {
        let picture = rendered(oriented(&stored(number), number), 32).to_rgb8();
        let expected = imageops::resize(&upright, 32, 16, imageops::FilterType::Lanczos3);
        assert_eq!(picture.dimensions(), (32, 16), "orientation {number}");
        assert!(mean_difference(&picture, &expected) < 8.0, "orientation {number}: {}", mean_difference(&picture, &expected));
    }
}

#[test]
fn broken_exif_costs_the_turning_and_not_the_picture() {
    let jpeg = file(waves(40, 20), FileFormat::Jpeg);
    for body in [&b"Exif\0\0"[..], b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0garbage garbage garbage"] {
        let length = (body.len() as u16 + 2).to_be_bytes();
        let broken = [&jpeg[..2], &[0xff, 0xe1], &length, body, &jpeg[2..]].concat();
        assert_eq!(rendered(broken, 40).width(), 40);
    }
}

#[test]
fn bytes_decide_and_not_the_name() {
    let outputs = outputs(fixture("png_named.jpg"), 8192, &[ImageFormat::Jpeg]).unwrap();
    assert_eq!(image::guess_format(&outputs[0].bytes).unwrap(), FileFormat::Jpeg);
}

#[test]
fn transparency_is_kept_or_laid_on_the_background() {
    let original = fixture("rgba.png");
    let (width, height) = image::load_from_memory(&original).unwrap().to_rgba8().dimensions();
    for output in outputs(original, 8192, &ImageFormat::ALL).unwrap() {
        let picture = image::load_from_memory(&output.bytes).unwrap().to_rgba8();
        let (left, right) = (picture[(width / 8, height / 2)].0, picture[(width - 1 - width / 8, height / 2)].0);
        assert!(is_near([left[0], left[1], left[2]], [255, 0, 0], 12), "{left:?} in {:?}", output.format);
        match output.format {
            ImageFormat::Jpeg => assert!(is_near([right[0], right[1], right[2]], [255; 3], 12), "{right:?}"),
            _ => assert!(left[3] == 255 && right[3] == 0, "{left:?} {right:?} in {:?}", output.format),
        }
    }
}

#[test]
fn inks_become_the_colours_that_they_print() {
    assert!(is_near(pixel(&rendered(fixture("cmyk.jpg"), 8192), 3, 3), [255, 0, 0], 16));
    // With the profile of a press, which is passed over.
    let printed = rendered(fixture("cmyk_profile.jpg"), 8192).to_rgb8();
    let screen = image::load_from_memory(&fixture("photo_lossless.webp")).unwrap().to_rgb8();
    assert!(mean_difference(&printed, &screen) < 40.0, "{}", mean_difference(&printed, &screen));
}

#[test]
fn sixteen_bits_are_eight_and_grey_is_grey() {
    assert!(is_near(pixel(&rendered(fixture("gray16.png"), 8192), 0, 0), [156; 3], 2));
}

#[test]
fn a_wide_gamut_is_converted() {
    let converted = rendered(fixture("display_p3.jpg"), 8192).to_rgb8();
    let srgb = image::load_from_memory(&fixture("photo_lossless.webp")).unwrap().to_rgb8();
    let unconverted = image::load_from_memory(&fixture("display_p3.jpg")).unwrap().to_rgb8();
    assert!(mean_difference(&converted, &srgb) < 0.75 * mean_difference(&unconverted, &srgb));
}

#[test]
fn of_an_animation_the_first_frame_is_taken() {
    let first = rendered(fixture("anim3.gif"), 8192).to_rgb8();
    let expected = image::load_from_memory(&fixture("anim3.gif")).unwrap().to_rgb8();
    assert!(mean_difference(&first, &expected) < 1.0);
}

#[test]
fn an_animation_of_5000_frames_costs_its_first() {
    let frames =
        (0..5_000).map(|number| image::Frame::new(image::RgbaImage::from_pixel(20, 10, image::Rgba([number as u8, 9, 9, 255]))));
    let mut original = Vec::new();
    image::codecs::gif::GifEncoder::new_with_speed(&mut original, 30).encode_frames(frames).unwrap();
    // What comes after the first frame may even be missing.
    let whole = rendered(original.clone(), 8192);
    let cut = rendered(original[..original.len() / 2].to_vec(), 8192);
    assert!(is_near(pixel(&whole, 5, 5), [0, 9, 9], 4) && whole == cut);
}

#[test]
fn extreme_shapes_have_at_least_one_pixel_and_nothing_is_enlarged() {
    for (width, height, size, expected) in
        [(4000, 1, 256, (256, 1)), (1, 3000, 7, (1, 7)), (1, 1, 256, (1, 1)), (5, 3, 720, (5, 3)), (2000, 3, 8, (8, 1))]
    {
        for format in [FileFormat::Jpeg, FileFormat::Png, FileFormat::Gif, FileFormat::WebP] {
            let outputs = outputs(file(waves(width, height), format), size, &ImageFormat::ALL).unwrap();
            for output in outputs {
                assert_eq!((output.width, output.height), expected, "{width}×{height} in {format:?}");
                let picture = image::load_from_memory(&output.bytes).unwrap();
                assert_eq!((picture.width(), picture.height()), expected);
            }
        }
    }
}

#[test]
fn a_small_original_is_enlarged_when_that_is_asked_for() {
    let settings = RenderSettings { enlarge: true, ..SETTINGS };
    let original = Bytes::from(file(waves(10, 5), FileFormat::Png));
    let outputs = Rendering::plan(original, &[40], &[ImageFormat::Png], &settings).unwrap().run(&Cancel::default()).unwrap();
    assert_eq!((outputs[0].width, outputs[0].height), (40, 20));
}

#[test]
fn sizes_share_one_decoding_and_none_is_made_from_another_output() {
    let original = Bytes::from(file(waves(400, 300), FileFormat::Jpeg));
    let together = Rendering::plan(original.clone(), &[20, 300, 90], &[ImageFormat::Png], &SETTINGS).unwrap();
    let together = together.run(&Cancel::default()).unwrap();
    assert_eq!(together.iter().map(|output| output.size).collect::<Vec<_>>(), [300, 90, 20]);
    for output in together {
        let alone = rendered(original.clone(), output.size).to_rgb8();
        let shared = image::load_from_memory(&output.bytes).unwrap().to_rgb8();
        assert!(mean_difference(&alone, &shared) < 3.0, "{}", output.size);
    }
}
