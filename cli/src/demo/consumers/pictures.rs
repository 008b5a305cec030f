//! Pictures: through the API, and by an upload.

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::findings::Missed;
use super::super::scene::{Notes, Scene, SceneOutcome, works};
use super::super::stage::Stage;
use super::table::records;
use crate::local::objects::Bucket;
use crate::local::pictures::{Seen, look};

/// Longest sides that are asked for. None is longer than the photograph's own.
const SIZES: [u32; 3] = [64, 200, 480];

/// What they are asked for in, as the job says it, and as a decoder calls it.
const FORMATS: [(&str, &str); 2] = [("webp", "WEBP"), ("jpeg", "JPEG")];

/// How far pixels may be from the photograph's on average, of 255. Compression and resampling make 2 to 6 of it.
const MAX_DIFFERENCE: f64 = 12.0;

/// Width over height of the photograph, upright.
const RATIO: f64 = 1.5;

/// A key with everything that URLs spell in another way.
const AWKWARD_ASSET: &str = "summer 2031/a b+c.jpg";

/// What the stack makes of every upload: sizes and formats of its parameters' defaults.
const OF_AN_UPLOAD: usize = 4;

/// Three sizes in two formats of a photograph that lies on its side, through the API.
pub(super) async fn asked_for(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.main, "pictures asked for");
    scene
        .play(async |scene, notes| {
            let photograph = works("the photograph can be read", stage.photograph())?;
            let bucket = scene.bucket("AssetsBucketName")?;
            works("the original is stored", bucket.put("uploads/cup.jpg", photograph.clone()).await)?;
            let formats = FORMATS.map(|(name, _)| name);
            let job = json!({"type": "image.resize", "payload": {"assetId": "cup.jpg", "sizes": SIZES, "formats": formats}});
            let job_id = scene.post("pictures", &job).await?;
            let record = scene.succeeded(&job_id).await?;
            let took = record.updated_at.since(record.created_at);

            let mut pictures = Vec::new();
            for (size, (_, format)) in SIZES.iter().flat_map(|size| FORMATS.map(|format| (size, format))) {
                let found = outputs(&bucket, "cup.jpg").await?.into_iter().find(|key| is_output(key, *size, format));
                let what = format!("there is a {format} of {size} px");
                let key = found.ok_or_else(|| Missed { what: what.clone(), found: "none".into() })?;
                let object = works(&what, bucket.get(&key).await)?;
                let object = object.ok_or_else(|| Missed { what, found: "it is gone".into() })?;
                pictures.push((*size, format, object.bytes));
            }
            check(scene, notes, &photograph, &pictures).await?;
            let bytes: usize = pictures.iter().map(|(_, _, bytes)| bytes.len()).sum();
            notes.figure("milliseconds", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
            Ok(format!("{} pictures, read by Pillow: upright, no EXIF, {} kB in all", pictures.len(), bytes.div_ceil(1000)))
        })
        .await
}

/// An upload under an awkward key makes its pictures, and the pictures make none.
pub(super) async fn uploaded(stage: &Stage<'_>) -> SceneOutcome {
    let scene = Scene::new(stage, &stage.stacks.main, "pictures by upload");
    scene
        .play(async |scene, notes| {
            let photograph = works("the photograph can be read", stage.photograph())?;
            let bucket = scene.bucket("AssetsBucketName")?;
            works("it is uploaded", bucket.put(&format!("uploads/{AWKWARD_ASSET}"), photograph.clone()).await)?;
            scene.line.note("uploaded; S3 tells the queue");
            let of_asset = |payload: &Value| payload["assetId"] == AWKWARD_ASSET;
            let made = async || {
                let jobs = records(scene, "image.resize").await.ok()?;
                jobs.into_iter().find(|job| of_asset(&job.payload)).map(|job| job.job_id)
            };
            let job_id = stage.eventually("the upload becomes a job", made).await?;
            scene.follow(&job_id);
            scene.succeeded(&job_id).await?;
            let keys = outputs(&bucket, AWKWARD_ASSET).await?;
            notes.findings.equal("pictures of the upload", keys.len(), OF_AN_UPLOAD);
            let mut pictures = Vec::new();
            for key in &keys {
                let object = works("a picture can be read", bucket.get(key).await)?;
                pictures.extend(object.map(|object| object.bytes));
            }
            let seen = works("Pillow reads them", look(&stage.python, &photograph, &pictures).await)?;
            notes.findings.equal("of them upright", seen.iter().filter(|seen| seen.position == "upright").count(), OF_AN_UPLOAD);

            notes.figure("pictures", keys.len());

            // What the outputs could trigger would be on the queue by now.
            scene.drained("ImageQueueName").await?;
            let jobs = records(scene, "image.resize").await?;
            notes.findings.equal("jobs of this upload", jobs.iter().filter(|job| of_asset(&job.payload)).count(), 1);
            let of_outputs = |payload: &Value| payload["assetId"].as_str().is_some_and(|asset| asset.contains("derived"));
            notes.findings.equal("jobs made by pictures", jobs.iter().filter(|job| of_outputs(&job.payload)).count(), 0);
            Ok(format!("`{AWKWARD_ASSET}`: 1 event, 1 job, {} pictures, which trigger nothing", keys.len()))
        })
        .await
}

async fn outputs(bucket: &Bucket, asset: &str) -> Result<Vec<String>, Missed> {
    works("the pictures can be listed", bucket.keys(&format!("derived/{asset}/")).await)
}

/// `…/480.webp`
fn is_output(key: &str, size: u32, format: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let Some((stem, extension)) = name.split_once('.') else { return false };
    let extensions = if format == "JPEG" { ["jpg", "jpeg"] } else { ["webp", "webp"] };
    stem == size.to_string() && extensions.contains(&extension)
}

/// Compares what an independent decoder sees with what was asked for.
async fn check(scene: &Scene<'_>, notes: &mut Notes, photograph: &Bytes, pictures: &[(u32, &str, Bytes)]) -> Result<(), Missed> {
    let bytes: Vec<&Bytes> = pictures.iter().map(|(_, _, bytes)| bytes).collect();
    let looking = look(&scene.stage.python, photograph, &bytes);
    let seen = works("Pillow reads every picture", scene.in_time("Pillow answers", looking).await?)?;
    let mut figures = Vec::new();
    for ((size, format, bytes), seen) in pictures.iter().zip(&seen) {
        let Seen { width, height, position, difference, exif_tags, .. } = seen;
        let right_size = width == size && (f64::from(*width) / RATIO - f64::from(*height)).abs() <= 1.0;
        let right =
            seen.format == *format && right_size && position == "upright" && *exif_tags == 0 && *difference < MAX_DIFFERENCE;
        notes.findings.check(
            format!("{size} px, {format}: that size and format, upright, no EXIF"),
            format!("{} {width}×{height}, {position}, {exif_tags} EXIF tags, {difference} of 255 off", seen.format),
            right,
        );
        figures.push(json!({"size": size, "bytes": bytes.len(), "seen": seen}));
    }
    notes.figure("pictures", figures);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_known_by_its_name() {
        assert!(is_output("derived/cup.jpg/64.webp", 64, "WEBP"));
        assert!(is_output("derived/cup.jpg/64.jpg", 64, "JPEG") && is_output("derived/cup.jpg/64.jpeg", 64, "JPEG"));
        assert!(!is_output("derived/cup.jpg/64.webp", 64, "JPEG") && !is_output("derived/cup.jpg/640.webp", 64, "WEBP"));
    }
}
