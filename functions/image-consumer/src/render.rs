//! From an original's bytes to the files of all sizes and formats.
//!
//! ```text
//! bytes ──▶ recognise ──▶ header: size, turning, colours ──▶ plan: targets and memory
//!       ──▶ decode once, reduced ──▶ for each size: resize ──▶ sRGB ──▶ turn ──▶ for each format: encode
//! ```
//!
//! Every size is made from the decoded original and never from another output. Turning and colours come after resizing: there are fewer
//! pixels then. Nothing here waits for anything: it is work for a thread.

use bytes::Bytes;
use fast_image_resize::Resizer;
use ikkai::job::ImageFormat;

use crate::{
    cancel::Cancel,
    encode::{Encoding, encode, file_bytes, working_bytes},
    picture::{Layout, Picture},
    picture_error::PictureError,
    profile::ToSrgb,
    resize::{resize, resizing_bytes, target},
    source::{Reduction, Source},
};

/// What is made of every original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderSettings {
    /// What the files shall be like.
    pub encoding: Encoding,
    /// Most pixels of an original.
    pub max_pixels: u64,
    /// Whether small originals are enlarged to the sizes that are asked for.
    pub enlarge: bool,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The size that was asked for.
    pub size: u32,
    /// Its format.
    pub format: ImageFormat,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
    /// The file.
    pub bytes: Bytes,
}

/// An original whose header was read, with what it will take to make its outputs.
pub struct Rendering {
    original: Bytes,
    source: Source,
    reduction: Reduction,
    /// Sizes, largest first, with their width and height before turning.
    targets: Vec<(u32, (u32, u32))>,
    formats: Vec<ImageFormat>,
    settings: RenderSettings,
}

impl std::fmt::Debug for Rendering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendering").field("targets", &self.targets).field("formats", &self.formats).finish_non_exhaustive()
    }
}

impl Rendering {
    /// Reads the original's header and plans the outputs.
    ///
    /// # Errors
    /// When the original is no picture that is read, or too large.
    pub fn plan(
        original: Bytes,
        sizes: &[u32],
        formats: &[ImageFormat],
        settings: &RenderSettings,
    ) -> Result<Self, PictureError> {
        let source = Source::inspect(&original, settings.max_pixels)?;
        let mut targets: Vec<_> = sizes.iter().map(|&size| (size, target(source.dimensions, size, settings.enlarge))).collect();
        targets.sort_unstable_by_key(|&(size, _)| std::cmp::Reverse(size));
        let largest = targets.first().map_or(1, |&(_, (width, height))| width.max(height));
        let reduction = source.reduction(largest);
        Ok(Self { original, source, reduction, targets, formats: formats.to_vec(), settings: *settings })
    }

    /// The original's format.
    #[must_use]
    pub fn source_format(&self) -> &'static str {
        self.source.format.name()
    }

    /// The original's width and height, upright.
    #[must_use]
    pub fn source_dimensions(&self) -> (u32, u32) {
        self.source.orientation.turned(self.source.dimensions)
    }

    /// Most bytes that [`Self::run`] takes besides the original: an estimate from the header that leans to the safe side.
    #[must_use]
    pub fn working_bytes(&self) -> u64 {
        let (layout, reduced) = (self.source.layout, self.source.reduced(self.reduction));
        let decoding = self.source.decoding_bytes(self.reduction);
        let of_size = |&(_, target): &(u32, (u32, u32))| {
            let picture = u64::from(target.0) * u64::from(target.1) * layout.bytes() as u64;
            let encoders = self.formats.iter().map(|&format| working_bytes(format, target, layout)).max().unwrap_or(0);
            // Resized, then converted or turned into a copy, then encoded.
            (resizing_bytes(reduced, target, layout)).max(2 * picture).max(picture + encoders)
        };
        let files = self
            .targets
            .iter()
            .flat_map(|&(_, target)| self.formats.iter().map(move |&format| file_bytes(format, target, layout)));
        decoding + self.targets.iter().map(of_size).max().unwrap_or(0) + files.sum::<u64>()
    }

    /// Makes the outputs, in the order of sizes from the largest down, and of formats as asked.
    ///
    /// # Errors
    /// When the original is damaged or ends early, or the work was called off.
    pub fn run(self, cancel: &Cancel) -> Result<Vec<Output>, PictureError> {
        let Self { original, source, reduction, targets, formats, settings } = self;
        let reduced = source.decode(&original, reduction, cancel)?;
        drop(original);

        let to_srgb = ToSrgb::new(source.profile.as_deref());
        let mut resizer = Resizer::new();
        let mut outputs: Vec<Output> = Vec::with_capacity(targets.len() * formats.len());
        let mut before = None;
        for (size, target) in targets {
            cancel.check()?;
            if before == Some(target) {
                // Not enlarged: the same picture under another name.
                let same = outputs[outputs.len() - formats.len()..].to_vec();
                outputs.extend(same.into_iter().map(|output| Output { size, ..output }));
                continue;
            }
            let picture = resize(&reduced, target, &mut resizer)?;
            let picture = source.orientation.apply(to_srgb.apply(without_idle_alpha(picture)));
            for &format in &formats {
                let bytes = Bytes::from(encode(&picture, format, &settings.encoding, cancel)?);
                outputs.push(Output { size, format, width: picture.width, height: picture.height, bytes });
            }
            before = Some(target);
        }
        Ok(outputs)
    }
}

/// Drops an alpha that hides nothing.
fn without_idle_alpha(picture: Picture) -> Picture {
    if picture.layout == Layout::Rgb || picture.pixels.chunks_exact(4).any(|pixel| pixel[3] != 255) {
        return picture;
    }
    let pixels = picture.pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    Picture { layout: Layout::Rgb, pixels, ..picture }
}
