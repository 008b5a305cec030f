//! What a file is, by its first bytes. Names and content types are not asked: whoever uploads chooses them.

use crate::picture_error::PictureError;

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceFormat {
    Jpeg,
    Png,
    Webp,
    Gif,
}

impl SourceFormat {
    /// The name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Gif => "gif",
        }
    }
}

/// How far into a file an SVG's root element is looked for, past comments and declarations.
const SVG_SEARCH_BYTES: usize = 4096;

/// Recognises a file.
pub(crate) fn recognise(bytes: &[u8]) -> Result<SourceFormat, PictureError> {
    let unsupported = |what| Err(PictureError::Unsupported { what });
    match bytes {
        [] => Err(PictureError::Empty),
        [0xff, 0xd8, ..] => Ok(SourceFormat::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(SourceFormat::Png),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Ok(SourceFormat::Webp),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Ok(SourceFormat::Gif),
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => unsupported(iso_media(brand)),
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => unsupported("a TIFF or a camera's raw file"),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => unsupported("a BMP"),
        [0xff, 0x0a, ..] | [0, 0, 0, 0x0c, b'J', b'X', b'L', b' ', ..] => unsupported("a JPEG XL"),
        [0, 0, 0, 0x0c, b'j', b'P', b' ', b' ', ..] => unsupported("a JPEG 2000"),
        [0, 0, 1 | 2, 0, _, _, ..] => unsupported("an icon"),
        [b'8', b'B', b'P', b'S', ..] => unsupported("a Photoshop file"),
        [b'%', b'P', b'D', b'F', ..] => unsupported("a PDF"),
        _ if is_svg(bytes) => Err(PictureError::Svg),
        _ => Err(PictureError::NotAnImage),
    }
}

/// By the brand of the file type box (ISO/IEC 14496-12, 4.3).
fn iso_media(brand: &[u8]) -> &'static str {
    match brand.get(..4) {
        Some(b"avif" | b"avis") => "an AVIF",
        Some(b"heic" | b"heix" | b"hevc" | b"hevx" | b"heim" | b"heis" | b"mif1" | b"msf1") => "a HEIC",
        _ => "a video or another media file",
    }
}

/// XML, plain or in UTF-16, with an element `svg` near its start.
fn is_svg(bytes: &[u8]) -> bool {
    // What is ASCII in any of the encodings, without the zero bytes of UTF-16.
    let start: Vec<u8> = bytes.iter().take(SVG_SEARCH_BYTES).copied().filter(|&byte| byte != 0 && byte < 0x80).collect();
    let text = start.trim_ascii_start().to_ascii_lowercase();
    text.starts_with(b"<") && text.windows(4).any(|window| window == b"<svg" || window == b":svg")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsupported(what: &'static str) -> Result<SourceFormat, PictureError> {
        Err(PictureError::Unsupported { what })
    }

    #[test]
    fn bytes_decide() {
        for (bytes, expected) in [
            (&b""[..], Err(PictureError::Empty)),
            (b"\xff\xd8\xff\xe0", Ok(SourceFormat::Jpeg)),
            (b"\x89PNG\r\n\x1a\n....", Ok(SourceFormat::Png)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Ok(SourceFormat::Webp)),
            (b"GIF89a", Ok(SourceFormat::Gif)),
            (b"GIF87a", Ok(SourceFormat::Gif)),
            (b"\0\0\0\x18ftypheic\0\0\0\0", unsupported("a HEIC")),
            (b"\0\0\0\x18ftypavif", unsupported("an AVIF")),
            (b"\0\0\0\x18ftypisom", unsupported("a video or another media file")),
            (b"II*\0\x08\0\0\0", unsupported("a TIFF or a camera's raw file")),
            (b"BM\x36\0\0\0\0\0\0\0", unsupported("a BMP")),
            (b"%PDF-1.7", unsupported("a PDF")),
            (b"this is not an image at all", Err(PictureError::NotAnImage)),
            (b"<html><body>", Err(PictureError::NotAnImage)),
            (b"<svg xmlns='http://www.w3.org/2000/svg'><script>", Err(PictureError::Svg)),
            (b"\xef\xbb\xbf\n<?xml version='1.0'?><!-- x --><SVG>", Err(PictureError::Svg)),
            (b"<?xml version='1.0'?><x:svg>", Err(PictureError::Svg)),
            (b"\xff\xfe<\0s\0v\0g\0>\0", Err(PictureError::Svg)),
            (b"\xff", Err(PictureError::NotAnImage)),
        ] {
            assert_eq!(recognise(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
