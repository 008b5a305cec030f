//! The settings that only this consumer has.

use std::collections::BTreeSet;

use ikkai::{
    config::Reader,
    job::{ImageFormat, ImageResize},
};

use crate::{
    capacity::Capacity,
    encode::Encoding,
    notification::UploadRule,
    places::{MAX_PREFIX_BYTES, Places},
    render::RenderSettings,
};

/// Settings of the image consumer, besides those that every consumer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSettings {
    /// `IKKAI_ORIGINALS_BUCKET`, `IKKAI_ORIGINALS_PREFIX` (`uploads/`), `IKKAI_DERIVED_BUCKET` (the originals' bucket) and
    /// `IKKAI_DERIVED_PREFIX` (`derived/`).
    pub places: Places,
    /// `IKKAI_IMAGE_UPLOAD_SIZES` (`256,720`) and `IKKAI_IMAGE_UPLOAD_FORMATS` (`webp,jpeg`): what is made of an upload that S3 tells about.
    pub uploads: UploadRule,
    /// `IKKAI_IMAGE_BACKGROUND` (`#ffffff`), `IKKAI_IMAGE_JPEG_QUALITY` (80), `IKKAI_IMAGE_WEBP_QUALITY` (80), `IKKAI_IMAGE_MAX_PIXELS`
    /// (100 million) and `IKKAI_IMAGE_ENLARGE` (`off`).
    pub render: RenderSettings,
    /// `IKKAI_IMAGE_CACHE_CONTROL`: what outputs say to caches, `public, max-age=86400` unless set.
    pub cache_control: String,
    /// From `AWS_LAMBDA_FUNCTION_MEMORY_SIZE`, which Lambda sets; 1,024 MB where it is not.
    pub capacity: Capacity,
}

impl ImageSettings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        Self {
            places: read_places(reader),
            uploads: UploadRule { sizes: read_sizes(reader), formats: read_formats(reader) },
            render: RenderSettings {
                encoding: Encoding {
                    background: read_background(reader),
                    jpeg_quality: read_quality(reader, "IKKAI_IMAGE_JPEG_QUALITY"),
                    webp_quality: read_quality(reader, "IKKAI_IMAGE_WEBP_QUALITY"),
                },
                max_pixels: reader.number("IKKAI_IMAGE_MAX_PIXELS", 100_000_000, 1..=1_000_000_000),
                enlarge: reader.switch("IKKAI_IMAGE_ENLARGE", false),
            },
            cache_control: read_cache_control(reader),
            capacity: read_capacity(reader),
        }
    }
}

fn read_places(reader: &mut Reader) -> Places {
    let originals_bucket = reader.required_text("IKKAI_ORIGINALS_BUCKET");
    let places = Places {
        originals_prefix: read_prefix(reader, "IKKAI_ORIGINALS_PREFIX", "uploads/"),
        derived_bucket: reader.text("IKKAI_DERIVED_BUCKET", &originals_bucket),
        derived_prefix: read_prefix(reader, "IKKAI_DERIVED_PREFIX", "derived/"),
        originals_bucket,
    };
    if places.overlap() {
        reader.problem(
            "IKKAI_DERIVED_PREFIX",
            "and IKKAI_ORIGINALS_PREFIX lie inside each other in one bucket, so that each output would be an upload again; \
             set them to two separate prefixes",
        );
    }
    places
}

fn read_prefix(reader: &mut Reader, name: &'static str, default: &str) -> String {
    let prefix = reader.text(name, default);
    let is_prefix = prefix.len() <= MAX_PREFIX_BYTES
        && prefix.ends_with('/')
        && !prefix.starts_with('/')
        && !prefix.chars().any(char::is_control)
        && prefix.split('/').all(|segment| !matches!(segment, "." | ".."));
    if !is_prefix {
        reader.problem(
            name,
            format!("is no prefix; use up to {MAX_PREFIX_BYTES} bytes that end with a slash and do not begin with one, such as {default}"),
        );
    }
    prefix
}

fn read_sizes(reader: &mut Reader) -> Vec<u32> {
    const NAME: &str = "IKKAI_IMAGE_UPLOAD_SIZES";
    let sizes = list(&reader.text(NAME, "256,720"), |size| {
        let is_plain = size.bytes().all(|byte| byte.is_ascii_digit());
        size.parse().ok().filter(|size| is_plain && ImageResize::SIZE_RANGE.contains(size))
    });
    sizes.filter(|sizes| sizes.len() <= ImageResize::MAX_SIZES).unwrap_or_else(|| {
        let (least, most) = ImageResize::SIZE_RANGE.into_inner();
        let count = ImageResize::MAX_SIZES;
        reader.problem(
            NAME,
            format!("is no list of sizes; set it to 1 to {count} different numbers from {least} to {most}, such as 256,720"),
        );
        Vec::new()
    })
}

fn read_formats(reader: &mut Reader) -> Vec<ImageFormat> {
    const NAME: &str = "IKKAI_IMAGE_UPLOAD_FORMATS";
    let formats = list(&reader.text(NAME, "webp,jpeg"), |name| ImageFormat::ALL.into_iter().find(|format| format.name() == name));
    formats.unwrap_or_else(|| {
        reader.problem(NAME, "is no list of formats; set it to one or more of: webp, jpeg, png");
        Vec::new()
    })
}

/// The elements of a list, if all of them are good and none stands there twice.
fn list<T: Ord + Clone>(text: &str, element: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let elements: Vec<T> = text.split(',').map(|part| element(part.trim())).collect::<Option<_>>()?;
    let distinct: BTreeSet<T> = elements.iter().cloned().collect();
    (distinct.len() == elements.len()).then_some(elements)
}

fn read_background(reader: &mut Reader) -> [u8; 3] {
    const NAME: &str = "IKKAI_IMAGE_BACKGROUND";
    let text = reader.text(NAME, "#ffffff");
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, red, green, blue] = number
        .unwrap_or_else(|| {
            reader.problem(NAME, "is no colour; set it to # and six hexadecimal digits, such as #ffffff");
            0
        })
        .to_be_bytes();
    [red, green, blue]
}

fn read_quality(reader: &mut Reader, name: &'static str) -> u8 {
    u8::try_from(reader.number(name, 80, 1..=100)).unwrap_or(80)
}

fn read_cache_control(reader: &mut Reader) -> String {
    const NAME: &str = "IKKAI_IMAGE_CACHE_CONTROL";
    let text = reader.text(NAME, "public, max-age=86400");
    if text.len() > 256 || !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        reader.problem(NAME, "is no header value; set it to up to 256 printable characters of ASCII");
    }
    text
}

fn read_capacity(reader: &mut Reader) -> Capacity {
    let memory_mb = reader.number("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", 1024, 128..=32_768);
    Capacity::of_function(memory_mb, std::thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<ImageSettings, Vec<String>> {
        // A later value replaces an earlier one.
        let mut reader = Reader::from_pairs([("IKKAI_ORIGINALS_BUCKET", "assets")].iter().chain(variables).copied());
        let settings = ImageSettings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_the_bucket_is_required() {
        let settings = read(&[]).unwrap();
        assert_eq!(
            settings.places,
            Places {
                originals_bucket: "assets".to_owned(),
                originals_prefix: "uploads/".to_owned(),
                derived_bucket: "assets".to_owned(),
                derived_prefix: "derived/".to_owned(),
            }
        );
        assert_eq!(settings.uploads, UploadRule { sizes: vec![256, 720], formats: vec![ImageFormat::Webp, ImageFormat::Jpeg] });
        let encoding = Encoding { background: [255; 3], jpeg_quality: 80, webp_quality: 80 };
        assert_eq!(settings.render, RenderSettings { encoding, max_pixels: 100_000_000, enlarge: false });
        assert_eq!(settings.cache_control, "public, max-age=86400");
    }

    #[test]
    fn everything_can_be_set() {
        let settings = read(&[
            ("IKKAI_ORIGINALS_PREFIX", "in/pictures/"),
            ("IKKAI_DERIVED_BUCKET", "web"),
            ("IKKAI_DERIVED_PREFIX", "in/pictures/"),
            ("IKKAI_IMAGE_UPLOAD_SIZES", "64, 8192"),
            ("IKKAI_IMAGE_UPLOAD_FORMATS", "png"),
            ("IKKAI_IMAGE_BACKGROUND", "#0aF0ff"),
            ("IKKAI_IMAGE_JPEG_QUALITY", "90"),
            ("IKKAI_IMAGE_WEBP_QUALITY", "1"),
            ("IKKAI_IMAGE_MAX_PIXELS", "1000"),
            ("IKKAI_IMAGE_CACHE_CONTROL", "no-store"),
            ("IKKAI_IMAGE_ENLARGE", "on"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
        ])
        .unwrap();
        assert_eq!((settings.places.derived_bucket.as_str(), settings.places.derived_prefix.as_str()), ("web", "in/pictures/"));
        assert_eq!(settings.uploads, UploadRule { sizes: vec![64, 8192], formats: vec![ImageFormat::Png] });
        let encoding = Encoding { background: [10, 240, 255], jpeg_quality: 90, webp_quality: 1 };
        assert_eq!(settings.render, RenderSettings { encoding, max_pixels: 1000, enlarge: true });
        assert_eq!((settings.cache_control.as_str(), settings.capacity.cpus), ("no-store", 1));
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let problems = read(&[
            ("IKKAI_ORIGINALS_BUCKET", ""),
            ("IKKAI_ORIGINALS_PREFIX", "uploads"),
            ("IKKAI_DERIVED_PREFIX", "/derived/"),
            ("IKKAI_IMAGE_UPLOAD_SIZES", "256,256"),
            ("IKKAI_IMAGE_UPLOAD_FORMATS", "webp,avif"),
            ("IKKAI_IMAGE_BACKGROUND", "white"),
            ("IKKAI_IMAGE_JPEG_QUALITY", "0"),
            ("IKKAI_IMAGE_CACHE_CONTROL", "no\u{fc}"),
        ])
        .unwrap_err();
        let names: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
        assert_eq!(
            names,
            [
                "IKKAI_ORIGINALS_BUCKET",
                "IKKAI_ORIGINALS_PREFIX",
                "IKKAI_DERIVED_PREFIX",
                "IKKAI_IMAGE_UPLOAD_SIZES",
                "IKKAI_IMAGE_UPLOAD_FORMATS",
                "IKKAI_IMAGE_BACKGROUND",
                "IKKAI_IMAGE_JPEG_QUALITY",
                "IKKAI_IMAGE_CACHE_CONTROL",
            ]
        );
    }

    #[test]
    fn an_output_that_would_be_an_upload_again_is_refused_at_the_start() {
        for (originals, derived) in [("uploads/", "uploads/small/"), ("a/b/", "a/"), ("a/", "a/")] {
            let problems = read(&[("IKKAI_ORIGINALS_PREFIX", originals), ("IKKAI_DERIVED_PREFIX", derived)]).unwrap_err();
            assert_eq!(problems.len(), 1);
            assert!(
                problems[0].starts_with("IKKAI_DERIVED_PREFIX: and IKKAI_ORIGINALS_PREFIX lie inside each other"),
                "{problems:?}"
            );
        }
    }

    #[test]
    fn lists_are_lists_of_different_good_elements() {
        for sizes in ["0", "8193", "1,2,3,4,5,6,7,8,9,10,11", "256,", "+1", "1;2"] {
            assert_eq!(read(&[("IKKAI_IMAGE_UPLOAD_SIZES", sizes)]).unwrap_err().len(), 1, "{sizes}");
        }
        for color in ["#fff", "ffffff", "#gggggg", "#+fffff"] {
            assert_eq!(read(&[("IKKAI_IMAGE_BACKGROUND", color)]).unwrap_err().len(), 1, "{color}");
        }
    }
}
