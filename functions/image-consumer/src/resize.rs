//! The last step down, or up: Lanczos with three lobes.

use fast_image_resize::{
    FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer,
    images::{Image, ImageRef},
};

use crate::{
    picture::{Layout, Picture, Reduced},
    picture_error::PictureError,
};

/// Width and height of an output whose longest side is to be `size` pixels: at least one pixel each, and those of the original where it is
/// smaller and must not be enlarged.
pub(crate) fn target((width, height): (u32, u32), size: u32, enlarge: bool) -> (u32, u32) {
    let longest = width.max(height);
    if longest <= size && !enlarge {
        return (width, height);
    }
    let side = |side: u32| {
        let (side, size, longest) = (u64::from(side), u64::from(size), u64::from(longest));
        u32::try_from((side * size + longest / 2) / longest).unwrap_or(u32::MAX).max(1)
    };
    (side(width), side(height))
}

/// Bytes that resizing takes: the picture after its first pass, and the result.
pub(crate) fn resizing_bytes(source: (u32, u32), target: (u32, u32), layout: Layout) -> u64 {
    let (width, rows) = (u64::from(target.0), u64::from(source.1) + u64::from(target.1));
    width * rows * layout.bytes() as u64
}

/// Resizes what of the picture the original fills.
///
/// # Errors
/// Never for pictures whose sides are at least one pixel.
pub(crate) fn resize(source: &Reduced, (width, height): (u32, u32), resizer: &mut Resizer) -> Result<Picture, PictureError> {
    let Reduced { picture, extent } = source;
    let is_whole = *extent == (f64::from(picture.width), f64::from(picture.height));
    if is_whole && picture.dimensions() == (width, height) {
        return Ok(picture.clone());
    }
    let kind = match picture.layout {
        Layout::Rgb => PixelType::U8x3,
        Layout::Rgba => PixelType::U8x4,
    };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3)).use_alpha(true).crop(
        0.0,
        0.0,
        extent.0.min(picture.width.into()),
        extent.1.min(picture.height.into()),
    );
    let impossible = |_| PictureError::Malformed { format: "picture", what: "it cannot be resized" };
    let from = ImageRef::new(picture.width, picture.height, &picture.pixels, kind)
        .map_err(|_| PictureError::Malformed { format: "picture", what: "it cannot be resized" })?;
    let mut to = Image::new(width, height, kind);
    resizer.resize(&from, &mut to, &options).map_err(impossible)?;
    Ok(Picture { width, height, layout: picture.layout, pixels: to.into_vec() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_side_gets_the_size() {
        for (original, size, enlarge, expected) in [
            ((4000, 3000), 720, false, (720, 540)),
            ((3000, 4000), 720, false, (540, 720)),
            ((64, 32), 720, false, (64, 32)),
            ((64, 32), 720, true, (720, 360)),
            ((10_000, 1), 256, false, (256, 1)),
            ((1, 65_535), 8, false, (1, 8)),
            ((1, 1), 8192, true, (8192, 8192)),
            ((720, 720), 720, false, (720, 720)),
        ] {
            assert_eq!(target(original, size, enlarge), expected, "{original:?} to {size}");
        }
    }

    proptest! {
        #[test]
        fn outputs_fit_are_not_enlarged_and_keep_their_shape(width in 1_u32..70_000, height in 1_u32..70_000, size in 1_u32..=8192) {
            let (w, h) = target((width, height), size, false);
            prop_assert!(w >= 1 && h >= 1 && w <= width && h <= height);
            prop_assert!(w.max(h) <= size.max(1) || (w, h) == (width, height));
            prop_assert_eq!(w.max(h), size.min(width.max(height)));
            let (shape, kept) = (f64::from(width) / f64::from(height), f64::from(w) / f64::from(h));
            let rounding = 0.51 / f64::from(w.min(h));
            prop_assert!(w == 1 || h == 1 || (kept / shape - 1.0).abs() <= rounding + 0.01, "{} {}", shape, kept);
        }

        #[test]
        fn any_shape_is_resized(width in 1_u32..40, height in 1_u32..40, to in (1_u32..50, 1_u32..50), cut in 0.0_f64..0.9) {
            for layout in [Layout::Rgb, Layout::Rgba] {
                let pixels = vec![200; width as usize * height as usize * layout.bytes()];
                let picture = Picture { width, height, layout, pixels };
                let source = Reduced { picture, extent: (f64::from(width) - cut, f64::from(height) - cut) };
                let resized = resize(&source, to, &mut Resizer::new()).unwrap();
                prop_assert_eq!(resized.dimensions(), to);
                prop_assert!(resized.pixels.iter().all(|value| value.abs_diff(200) <= 1));
            }
        }
    }
}
