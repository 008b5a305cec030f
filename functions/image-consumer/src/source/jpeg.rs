//! JPEG originals.

use super::{Kind, Reduction, Source};
use crate::{
    cancel::Cancel,
    jpeg::{self, Header},
    orientation::Orientation,
    picture::{Canvas, Layout, Reduced},
    picture_error::PictureError,
    recognise::SourceFormat,
};

pub(super) fn inspect(bytes: &[u8]) -> Result<Source, PictureError> {
    let mut header = jpeg::read_header(bytes)?;
    // A profile of inks does not fit what they are converted to.
    let profile = header.profile.take().filter(|_| !header.is_cmyk());
    Ok(Source {
        format: SourceFormat::Jpeg,
        dimensions: header.dimensions(),
        layout: Layout::Rgb,
        orientation: header.exif.take().map_or_else(Orientation::default, |exif| Orientation::read(&exif)),
        profile,
        kind: Kind::Jpeg(Box::new(header)),
    })
}

pub(super) fn decode(bytes: &[u8], header: &Header, reduction: Reduction, cancel: &Cancel) -> Result<Reduced, PictureError> {
    let Reduction { scale, factor } = reduction;
    let (width, height) = header.dimensions();
    let mut canvas = Canvas::new((scale.of(width), scale.of(height)), Layout::Rgb, factor);
    jpeg::decode(bytes, header.clone(), scale, cancel, &mut |row| {
        canvas.push(row);
        Ok(())
    })?;
    let mut reduced = canvas.finish("JPEG")?;
    let per_pixel = 8.0 / f64::from(scale.block_side()) * f64::from(factor);
    reduced.extent = (f64::from(width) / per_pixel, f64::from(height) / per_pixel);
    Ok(reduced)
}
