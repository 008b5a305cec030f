//! Colour profiles: pixels become sRGB, which is what a picture without a profile is taken for.

use std::sync::Arc;

use moxcms::{ColorProfile, DataColorSpace, Layout as CmsLayout, Transform8BitExecutor, TransformOptions};

use crate::picture::{Layout, Picture};

/// A conversion to sRGB, or nothing where there is nothing to convert.
pub(crate) struct ToSrgb(Option<Conversion>);

struct Conversion {
    profile: ColorProfile,
    /// For pixels without alpha, which most are. It takes as long to make as to convert a thumbnail.
    opaque: Arc<Transform8BitExecutor>,
}

/// Differences up to this much are those of rounding.
const ROUNDING: u8 = 2;

impl ToSrgb {
    /// From a picture's profile. One that cannot be read, or is not about red, green and blue, is passed over: its picture is shown as
    /// most programs show it, which is better than not at all.
    pub(crate) fn new(profile: Option<&[u8]>) -> Self {
        let profile = profile.and_then(|profile| ColorProfile::new_from_slice(profile).ok());
        let profile = profile.filter(|profile| profile.color_space == DataColorSpace::Rgb);
        let conversion = profile.and_then(|profile| Some(Conversion { opaque: to_srgb(&profile, CmsLayout::Rgb)?, profile }));
        Self(conversion.filter(|conversion| !changes_nothing(&*conversion.opaque)))
    }

    /// Converts the pixels.
    pub(crate) fn apply(&self, picture: Picture) -> Picture {
        let transform = self.0.as_ref().and_then(|conversion| match picture.layout {
            Layout::Rgb => Some(Arc::clone(&conversion.opaque)),
            Layout::Rgba => to_srgb(&conversion.profile, CmsLayout::Rgba),
        });
        let Some(transform) = transform else { return picture };
        let mut pixels = vec![0; picture.pixels.len()];
        match transform.transform(&picture.pixels, &mut pixels) {
            Ok(()) => Picture { pixels, ..picture },
            Err(_) => picture,
        }
    }
}

fn to_srgb(profile: &ColorProfile, layout: CmsLayout) -> Option<Arc<Transform8BitExecutor>> {
    profile.create_transform_8bit(layout, &ColorProfile::new_srgb(), layout, TransformOptions::default()).ok()
}

/// Whether colours from all over the cube stay as they are: most profiles are one of the many that describe sRGB.
fn changes_nothing(transform: &Transform8BitExecutor) -> bool {
    const STEPS: [u8; 6] = [0, 51, 102, 153, 204, 255];
    let colors: Vec<u8> =
        STEPS.iter().flat_map(|&r| STEPS.iter().flat_map(move |&g| STEPS.iter().flat_map(move |&b| [r, g, b]))).collect();
    let mut converted = vec![0; colors.len()];
    transform.transform(&colors, &mut converted).is_ok()
        && colors.iter().zip(&converted).all(|(before, after)| before.abs_diff(*after) <= ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(profile: &[u8], pixel: &[u8]) -> Vec<u8> {
        let layout = if pixel.len() == 3 { Layout::Rgb } else { Layout::Rgba };
        let picture = Picture { width: 1, height: 1, layout, pixels: pixel.to_vec() };
        ToSrgb::new(Some(profile)).apply(picture).pixels
    }

    #[test]
    fn a_wide_gamut_is_converted_and_alpha_is_kept() {
        let wide = ColorProfile::new_display_p3().encode().unwrap();
        let converted = converted(&wide, &[200, 100, 50, 77]);
        assert!(converted[0] > 205 && converted[1] < 100, "{converted:?}");
        assert_eq!(converted[3], 77);
    }

    #[test]
    fn srgb_and_what_is_no_profile_change_nothing() {
        let srgb = ColorProfile::new_srgb().encode().unwrap();
        let gray = ColorProfile::new_gray_with_gamma(2.2).encode().unwrap();
        for profile in [&srgb[..], &gray, &srgb[..100], b"garbage", b""] {
            assert_eq!(converted(profile, &[200, 100, 50]), [200, 100, 50]);
        }
    }
}
