//! Originals that are refused: bombs, half pictures, damage. Whatever they hold, the process goes on and no memory is taken.

mod scene;

use bytes::Bytes;
use ikkai::job::ImageFormat;
use image::ImageFormat as FileFormat;
use image_consumer::{Cancel, Encoding, PictureError, RenderSettings, Rendering};
use proptest::prelude::*;
use scene::{file, fixture, waves};

const SETTINGS: RenderSettings = RenderSettings {
    encoding: Encoding { background: [255; 3], jpeg_quality: 80, webp_quality: 80 },
    max_pixels: 100_000_000,
    enlarge: false,
};

fn plan(original: impl Into<Bytes>) -> Result<Rendering, PictureError> {
    Rendering::plan(original.into(), &[32], &[ImageFormat::Png], &SETTINGS)
}

fn render(original: impl Into<Bytes>) -> Result<(), PictureError> {
    plan(original)?.run(&Cancel::default()).map(drop)
}

fn png_chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in name.iter().chain(body) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    [&(body.len() as u32).to_be_bytes()[..], name, body, &(!crc).to_be_bytes()].concat()
}

fn png_header(width: u32, height: u32) -> Vec<u8> {
    let body = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    [&b"\x89PNG\r\n\x1a\n"[..], &png_chunk(b"IHDR", &body)].concat()
}

#[test]
fn declared_dimensions_are_believed_before_memory_is_taken() {
    let png = [png_header(60_000, 60_000), png_chunk(b"IDAT", &[0x78, 0x9c]), png_chunk(b"IEND", &[])].concat();
    let mut jpeg = file(waves(16, 16), FileFormat::Jpeg);
    let frame = jpeg.windows(2).position(|window| window == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
    let gif = [&b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"[..]].concat();
    for bomb in [png, jpeg, gif] {
        assert!(matches!(plan(bomb), Err(PictureError::TooManyPixels { limit: 100_000_000, .. })));
    }
}

#[test]
fn a_frame_larger_than_its_picture_is_believed_as_well() {
    // A picture of one pixel, a frame of 65,535 × 65,535.
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0;";
    assert!(matches!(plan(gif.to_vec()), Err(PictureError::TooManyPixels { .. })));

    // A container of one pixel around a lossy frame of 16,383 × 16,383.
    let frame = [&b"\x10\0\0\x9d\x01\x2a\xff\x3f\xff\x3f"[..], &[0; 20]].concat();
    let chunk = |name: &[u8; 4], body: &[u8]| [&name[..], &(body.len() as u32).to_le_bytes(), body].concat();
    let riff = |chunks: &[u8]| [&b"RIFF"[..], &(chunks.len() as u32 + 4).to_le_bytes(), b"WEBP", chunks].concat();
    let extended = [chunk(b"VP8X", &[0; 10]), chunk(b"VP8 ", &frame)].concat();
    let animation = [
        chunk(b"VP8X", &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        chunk(b"ANIM", &[0; 6]),
        chunk(b"ANMF", &[&[0; 16][..], &chunk(b"VP8 ", &frame)].concat()),
    ]
    .concat();
    for bomb in [riff(&extended), riff(&animation)] {
        assert!(matches!(plan(bomb), Err(PictureError::Malformed { format: "WebP", .. })));
    }
}

#[test]
fn a_webp_canvas_of_the_largest_size_is_too_large() {
    let body = [&[0x10, 0, 0, 0][..], &[0xff; 6]].concat();
    let bomb = [&b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0"[..], &body].concat();
    assert!(render(bomb).is_err());
}

#[test]
fn text_that_would_fill_the_memory_is_not_inflated() {
    let zeros = deflated_zeros(200_000_000);
    assert!(zeros.len() < 400_000);
    let good = file(waves(16, 16), FileFormat::Png);
    let after_header = 8 + 25;
    let with = |chunk: Vec<u8>| [&good[..after_header], &chunk, &good[after_header..]].concat();
    let text = [&b"Comment\0\0"[..], &zeros].concat();
    assert_eq!(render(with(png_chunk(b"zTXt", &text))), Ok(()), "text is passed over");
    let profile = [&b"profile\0\0"[..], &zeros].concat();
    let answer = render(with(png_chunk(b"iCCP", &profile)));
    assert!(matches!(answer, Ok(()) | Err(PictureError::Malformed { .. })), "{answer:?}");
}

/// A zlib stream of zeros: what a PNG of one colour has.
fn deflated_zeros(length: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut encoder = png::Encoder::new(&mut stream, length as u32 / 1000, 1000);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&vec![0; length / 1000 * 1000]).unwrap();
    writer.finish().unwrap();
    let mut data = Vec::new();
    let mut rest = &stream[8..];
    while rest.len() >= 12 {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        if &rest[4..8] == b"IDAT" {
            data.extend_from_slice(&rest[8..8 + length]);
        }
        rest = &rest[12 + length..];
    }
    data
}

#[test]
fn a_jpeg_is_planned_with_the_coefficients_that_its_decoder_may_keep() {
    let mut progressive = fixture("progressive.jpg");
    let frame = progressive.windows(2).position(|window| window == [0xff, 0xc2]).unwrap();
    // 8,000 × 6,000: 48 million pixels, half as many in chroma, two bytes each.
    progressive[frame + 5..frame + 9].copy_from_slice(&[0x17, 0x70, 0x1f, 0x40]);
    let planned = plan(progressive).unwrap().working_bytes();
    assert!((280_000_000..330_000_000).contains(&planned), "{planned}: progressive, twice");

    let mut baseline = fixture("restart_420.jpg");
    let frame = baseline.windows(2).position(|window| window == [0xff, 0xc0]).unwrap();
    baseline[frame + 5..frame + 9].copy_from_slice(&[0x17, 0x70, 0x1f, 0x40]);
    let planned = plan(baseline).unwrap().working_bytes();
    assert!((140_000_000..170_000_000).contains(&planned), "{planned}: baseline, once");
}

#[test]
fn a_webp_is_planned_with_the_partition_that_its_frame_may_announce() {
    // Three bytes say how long it is, and its decoder believes them.
    let planned = plan(fixture("photo.webp")).unwrap().working_bytes();
    assert!(planned > 1 << 24, "{planned}");
}

#[test]
fn half_a_picture_is_never_a_picture() {
    assert_eq!(render(fixture("truncated.jpg")), Err(PictureError::Truncated { format: "JPEG" }));
    for name in
        ["progressive.jpg", "restart_420.jpg", "gray.jpg", "photo.webp", "photo_lossless.webp", "interlaced.png", "anim3.gif"]
    {
        let whole = fixture(name);
        assert_eq!(render(whole.clone()), Ok(()), "{name}");
        // The first frame of the animation is shorter than half of the file.
        let ends =
            if name == "anim3.gif" { vec![20, 60, 70] } else { vec![whole.len() / 4, whole.len() / 2, whole.len() * 9 / 10] };
        for end in ends {
            assert!(render(whole[..end].to_vec()).is_err(), "{name} cut at {end} of {}", whole.len());
        }
    }
    let png = file(waves(64, 64), FileFormat::Png);
    for end in (0..png.len() - 60).step_by(97) {
        assert!(render(png[..end].to_vec()).is_err(), "cut at {end} of {}", png.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_never_panics_and_ends_in_a_picture_or_a_reason(
        name in prop::sample::select(vec![
            "progressive.jpg", "chroma_422.jpg", "restart_420.jpg", "cmyk.jpg", "photo.webp", "photo_lossless.webp", "alpha.webp",
            "anim.webp", "interlaced.png", "rgba.png", "gray16.png", "anim3.gif", "display_p3.jpg",
        ]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = fixture(name);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        // What fits into a small function: damage can make a header say anything.
        if let Ok(rendering) = plan(bytes) && rendering.working_bytes() < 64 << 20 {
            let _ = rendering.run(&Cancel::default());
        }
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(
        start in prop::sample::select(vec![&b""[..], b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\x40\0\0\0WEBPVP8X", b"GIF89a"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = render([start, &bytes].concat());
    }
}
