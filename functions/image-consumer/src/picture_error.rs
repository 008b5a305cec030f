//! Why no pictures can be made of an original.

/// What is wrong with an original. Every one of these is permanent except [`PictureError::Cancelled`]; messages name the rule and the mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// No bytes at all.
    #[error("the original has no bytes: upload it again")]
    Empty,
    /// No picture of any kind that is known.
    #[error("the original's bytes are no picture of a known format: upload a JPEG, PNG, WebP or GIF")]
    NotAnImage,
    /// SVG is a program as much as a picture (scripts, links, entities), so it is neither drawn nor passed on.
    #[error("the original is an SVG, which is never rasterised: upload a JPEG, PNG, WebP or GIF")]
    Svg,
    /// A picture of a format, or with a feature of one, that is not read.
    #[error("the original is {what}, which is not read: upload a JPEG, PNG, WebP or GIF")]
    Unsupported {
        /// The format or feature.
        what: &'static str,
    },
    /// The file ends before its pixels do. Half a picture is never an output.
    #[error("the {format} ends before its last pixel: upload it again")]
    Truncated {
        /// The format.
        format: &'static str,
    },
    /// The bytes break the rules of their format.
    #[error("the {format} is damaged ({what}): upload it again")]
    Malformed {
        /// The format.
        format: &'static str,
        /// The rule.
        what: &'static str,
    },
    /// More pixels than the function is set up for, or than the format can sensibly hold.
    #[error("the original has {pixels} pixels, and {limit} are allowed (IKKAI_IMAGE_MAX_PIXELS): upload a smaller one")]
    TooManyPixels {
        /// Width times height.
        pixels: u64,
        /// The setting.
        limit: u64,
    },
    /// More memory than the function has for pictures.
    #[error("the pictures need {needed_mb} MB, and the function has {limit_mb} MB for them: give the function more memory")]
    TooMuchMemory {
        /// The estimate, in units of 1,048,576 bytes.
        needed_mb: u64,
        /// The budget.
        limit_mb: u64,
    },
    /// The work was called off between two steps; nothing is wrong with the original.
    #[error("the work on the picture was called off")]
    Cancelled,
    /// An encoder refused its input, which no picture within the limits makes it do.
    #[error("the {format} could not be written")]
    NotWritten {
        /// The format.
        format: &'static str,
    },
}

impl PictureError {
    /// A stable name of the cause for records, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "original_empty",
            Self::NotAnImage => "not_an_image",
            Self::Svg => "svg_refused",
            Self::Unsupported { .. } => "image_unsupported",
            Self::Truncated { .. } => "image_truncated",
            Self::Malformed { .. } => "image_malformed",
            Self::TooManyPixels { .. } | Self::TooMuchMemory { .. } => "image_too_large",
            Self::Cancelled => "rendering_cut_off",
            Self::NotWritten { .. } => "image_not_written",
        }
    }
}
