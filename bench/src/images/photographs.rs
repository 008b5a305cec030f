//! What pictures are made of.

use std::error::Error;
use std::path::{Path, PathBuf};

use image::codecs::jpeg::JpegEncoder;
use image::{GenericImage as _, RgbImage};

use super::sharp::Sharp;

/// A photograph in a file.
pub(crate) struct Photograph {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
}

/// The photograph of sharp's own benchmark, and one of 24 megapixels: the same four times over, side by side, since a freely licensed one of
/// that size comes with no package.
pub(crate) fn prepare(sharp: &Sharp) -> Result<Vec<Photograph>, Box<dyn Error>> {
    let path = sharp.photograph();
    let large = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/bench/24-megapixels.jpg")).to_path_buf();
    if !large.is_file() {
        let photograph = image::open(&path)?.to_rgb8();
        let (width, height) = photograph.dimensions();
        let mut tiled = RgbImage::new(2 * width, 2 * height);
        for (x, y) in [(0, 0), (width, 0), (0, height), (width, height)] {
            tiled.copy_from(&photograph, x, y)?;
        }
        let mut file = Vec::new();
        tiled.write_with_encoder(JpegEncoder::new_with_quality(&mut file, 85))?;
        std::fs::write(&large, file)?;
    }
    Ok(vec![Photograph { name: "6-megapixel JPEG", path }, Photograph { name: "24-megapixel JPEG", path: large }])
}
