//! The contenders that are written in Rust: each is this program, started anew.

use std::error::Error;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, Resizer};
use ikkai::config::Reader;
use ikkai::consumer::ConsumerSettings;
use ikkai::job::ImageFormat;
use ikkai::queue::QueueName;
use ikkai::testing::{self, Bench, MessageBuilder};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image_consumer::{Cancel, Encoding, ImageHandler, ImageSettings, MemoryObjects, RenderSettings, Rendering};
use serde_json::json;

use super::Measured;

/// Quality of all outputs.
const QUALITY: u8 = 80;

/// Who makes the pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Contender {
    /// The image consumer: everything it does, limits and turning included.
    Ikkai,
    /// The `image` crate alone.
    Image,
    /// `jpeg-decoder` at a reduced scale, `fast_image_resize`, `image`'s encoder.
    JpegDecoder,
}

impl Contender {
    pub(crate) const ALL: [Self; 3] = [Self::Ikkai, Self::JpegDecoder, Self::Image];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ikkai => "ikkai",
            Self::Image => "image",
            Self::JpegDecoder => "jpeg-decoder",
        }
    }

    fn make(self, original: &Bytes, size: u32) -> Result<usize, Box<dyn Error>> {
        match self {
            Self::Ikkai => by_ikkai(original, size),
            Self::Image => by_image(original, size),
            Self::JpegDecoder => by_jpeg_decoder(original, size),
        }
    }

    /// Makes a size of a file several times and measures itself.
    pub(crate) fn run(self, file: &PathBuf, size: u32, pictures: u32) -> Result<Measured, Box<dyn Error>> {
        let original = Bytes::from(std::fs::read(file)?);
        let mut bytes = self.make(&original, size)?;
        let began = cpu_ms()?;
        for _ in 0..pictures {
            bytes = self.make(&original, size)?;
        }
        Ok(Measured { cpu_ms: (cpu_ms()? - began) / f64::from(pictures), bytes, peak_bytes: peak_bytes()? })
    }
}

fn by_ikkai(original: &Bytes, size: u32) -> Result<usize, Box<dyn Error>> {
    let encoding = Encoding { background: [255; 3], jpeg_quality: QUALITY, webp_quality: QUALITY };
    let settings = RenderSettings { encoding, max_pixels: 100_000_000, enlarge: false };
    let rendering = Rendering::plan(original.clone(), &[size], &[ImageFormat::Jpeg], &settings)?;
    Ok(rendering.run(&Cancel::default())?[0].bytes.len())
}

fn by_image(original: &Bytes, size: u32) -> Result<usize, Box<dyn Error>> {
    let picture = image::load_from_memory(original)?.resize(size, size, FilterType::Lanczos3);
    let mut file = Vec::new();
    picture.write_with_encoder(JpegEncoder::new_with_quality(&mut file, QUALITY))?;
    Ok(file.len())
}

fn by_jpeg_decoder(original: &Bytes, size: u32) -> Result<usize, Box<dyn Error>> {
    let mut decoder = jpeg_decoder::Decoder::new(Cursor::new(original));
    decoder.read_info()?;
    let info = decoder.info().ok_or("no header")?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    let longest = width.max(height);
    let side = |side: u32| (side * size + longest / 2) / longest;
    let (wanted_width, wanted_height) = (side(width), side(height));
    let (width, height) = decoder.scale(u16::try_from(wanted_width)?, u16::try_from(wanted_height)?)?;
    let pixels = decoder.decode()?;
    let mut resized = Image::new(wanted_width, wanted_height, PixelType::U8x3);
    Resizer::new().resize(&ImageRef::new(width.into(), height.into(), &pixels, PixelType::U8x3)?, &mut resized, None)?;
    let mut file = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut file, QUALITY);
    image::ImageEncoder::write_image(encoder, resized.buffer(), wanted_width, wanted_height, image::ExtendedColorType::Rgb8)?;
    Ok(file.len())
}

/// A batch of messages about copies of one file, through the consumer's handler.
#[derive(Debug, clap::Args)]
pub(crate) struct Batch {
    file: PathBuf,
    messages: u32,
    memory_mb: u64,
}

impl Batch {
    pub(crate) async fn run(&self) -> Result<Measured, Box<dyn Error>> {
        let mut reader = Reader::from_pairs([
            ("IKKAI_ORIGINALS_BUCKET", "assets".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", self.memory_mb.to_string()),
        ]);
        let settings = ImageSettings::read(&mut reader);
        let settings = reader.finish(settings)?;
        let objects = Arc::new(MemoryObjects::new());
        let began = cpu_ms()?;
        let messages = (0..self.messages).map(|number| {
            let asset = format!("{number}.jpg");
            // A copy for each, as downloads are.
            objects.add("assets", &format!("uploads/{asset}"), std::fs::read(&self.file)?);
            let payload = json!({"assetId": asset, "sizes": [720, 256], "formats": ["webp", "jpeg"]});
            Ok(MessageBuilder::job(&asset, "image.resize", &asset, payload).queue("image").build())
        });
        let messages: Vec<_> = messages.collect::<Result<_, std::io::Error>>()?;
        let consumer = ConsumerSettings { queue_name: QueueName::new("image"), ..testing::settings() };
        let bench = Bench::with(ImageHandler::new(objects.clone(), settings), consumer);
        let run = bench.run_batch(messages).await?;
        if !run.failed.is_empty() {
            return Err(format!("{} messages of the batch failed", run.failed.len()).into());
        }
        let bytes = objects.written().values().map(|object| object.bytes.len()).sum();
        Ok(Measured { cpu_ms: (cpu_ms()? - began) / f64::from(self.messages), bytes, peak_bytes: peak_bytes()? })
    }
}

/// Processor time of all threads so far, those included that have ended (proc_pid_stat(5); a tick is 10 ms on every Linux that Rust runs on).
fn cpu_ms() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").ok_or("unexpected /proc/self/stat")?.1;
    let ticks: Vec<u64> = fields.split(' ').skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<u64>() as f64 * 10.0)
}

fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("unexpected /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
