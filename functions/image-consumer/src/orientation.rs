//! Turning pictures the way their cameras were held.

use crate::picture::Picture;

/// The orientation of EXIF: how the stored picture has to be turned to stand upright.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orientation {
    /// Rows and columns change places, before the mirroring.
    transposes: bool,
    mirrors_across: bool,
    mirrors_down: bool,
}

impl Orientation {
    /// From the number that EXIF uses (CIPA DC-008, 4.6.5); any other number is upright.
    pub(crate) const fn from_exif(number: u16) -> Self {
        let (transposes, mirrors_across, mirrors_down) = match number {
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, true, false),
            7 => (true, true, true),
            8 => (true, false, true),
            _ => (false, false, false),
        };
        Self { transposes, mirrors_across, mirrors_down }
    }

    /// From an EXIF block: a TIFF file whose first directory has the tag. What cannot be read is upright: a broken tag must not cost the
    /// picture.
    pub(crate) fn read(exif: &[u8]) -> Self {
        exif_orientation(exif).map_or_else(Self::default, Self::from_exif)
    }

    /// Width and height after turning.
    pub(crate) const fn turned(self, (width, height): (u32, u32)) -> (u32, u32) {
        if self.transposes { (height, width) } else { (width, height) }
    }

    pub(crate) fn is_upright(self) -> bool {
        self == Self::default()
    }

    /// Turns the picture upright.
    pub(crate) fn apply(self, picture: Picture) -> Picture {
        if self.is_upright() {
            return picture;
        }
        let bytes = picture.layout.bytes();
        let (width, height) = self.turned(picture.dimensions());
        let (stored_width, last_column, last_row) = (picture.width as usize, width as usize - 1, height as usize - 1);
        let mut pixels = Vec::with_capacity(picture.pixels.len());
        for y in 0..height as usize {
            let y = if self.mirrors_down { last_row - y } else { y };
            for x in 0..width as usize {
                let x = if self.mirrors_across { last_column - x } else { x };
                let at = if self.transposes { x * stored_width + y } else { y * stored_width + x };
                pixels.extend_from_slice(&picture.pixels[at * bytes..(at + 1) * bytes]);
            }
        }
        Picture { width, height, layout: picture.layout, pixels }
    }
}

/// The value of tag 0x0112 in the first directory (TIFF 6.0, section 2).
fn exif_orientation(exif: &[u8]) -> Option<u16> {
    let is_little_endian = match exif.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes: [u8; 2] = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if is_little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| {
        let bytes: [u8; 4] = exif.get(at..at + 4)?.try_into().ok()?;
        Some(if is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    let directory = long(4)? as usize;
    let entries = usize::from(short(directory)?);
    let entry = (0..entries).map(|index| directory + 2 + 12 * index).find(|&entry| short(entry) == Some(0x0112))?;
    short(entry + 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Layout;

    /// Two columns and three rows, numbered row by row.
    fn picture() -> Picture {
        Picture { width: 2, height: 3, layout: Layout::Rgb, pixels: (1..=6).flat_map(|value| [value; 3]).collect() }
    }

    #[test]
    fn each_of_the_eight_orientations_is_turned_upright() {
        for (number, width, expected) in [
            (1, 2, [1, 2, 3, 4, 5, 6]),
            (2, 2, [2, 1, 4, 3, 6, 5]),
            (3, 2, [6, 5, 4, 3, 2, 1]),
            (4, 2, [5, 6, 3, 4, 1, 2]),
            (5, 3, [1, 3, 5, 2, 4, 6]),
            (6, 3, [5, 3, 1, 6, 4, 2]),
            (7, 3, [6, 4, 2, 5, 3, 1]),
            (8, 3, [2, 4, 6, 1, 3, 5]),
            (0, 2, [1, 2, 3, 4, 5, 6]),
            (9, 2, [1, 2, 3, 4, 5, 6]),
        ] {
            let turned = Orientation::from_exif(number).apply(picture());
            let values: Vec<u8> = turned.pixels.iter().step_by(3).copied().collect();
            assert_eq!((turned.width, &values[..]), (width, &expected[..]), "orientation {number}");
        }
    }

    #[test]
    fn the_tag_is_found_in_either_byte_order() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        for exif in [&little[..], big] {
            assert_eq!(Orientation::read(exif), Orientation::from_exif(6));
        }
    }

    #[test]
    fn a_broken_block_is_upright() {
        let good = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        for end in 0..18 {
            assert!(Orientation::read(&good[..end]).is_upright());
        }
        for broken in [&b"II*\0\xff\xff\xff\xff\x01\0"[..], b"garbage", b"", b"II*\0\x08\0\0\0\xff\xff"] {
            assert!(Orientation::read(broken).is_upright());
        }
    }
}
