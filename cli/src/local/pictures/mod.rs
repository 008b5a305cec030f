//! Looks at pictures with a decoder that none of the functions use: Pillow, in the local Python environment.

use std::path::Path;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// What does the looking.
const LOOK: &str = include_str!("look.py");

/// The pictures could not be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookError {
    /// Python did not run.
    #[error("cannot run Python to look at pictures")]
    NotRun(#[from] std::io::Error),
    /// A picture cannot be decoded, or Pillow is missing.
    #[error("Pillow does not take the pictures: {0}")]
    Refused(String),
    /// The answer has another form.
    #[error("what Pillow sees is not in the expected form")]
    Unexpected(#[from] serde_json::Error),
}

/// What is seen in a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// `JPEG`, `WEBP`, `PNG`: by its bytes.
    pub format: String,
    /// Pixels across, as a viewer shows it.
    pub width: u32,
    /// Pixels down, as a viewer shows it.
    pub height: u32,
    /// How many EXIF tags it has.
    pub exif_tags: u32,
    /// `upright`, or how it lies.
    pub position: String,
    /// How far its pixels are from the photograph's in that position, on average, of 255.
    pub difference: f64,
}

/// Looks at pictures that were made of a photograph. `python` has Pillow.
///
/// # Errors
/// Python does not run, or one of the pictures is none.
pub async fn look(python: &Path, photograph: &[u8], pictures: &[impl AsRef<[u8]> + Sync]) -> Result<Vec<Seen>, LookError> {
    let all = || std::iter::once(photograph).chain(pictures.iter().map(AsRef::as_ref));
    let lengths: Vec<usize> = all().map(<[u8]>::len).collect();
    let mut input = serde_json::to_vec(&lengths)?;
    input.push(b'\n');
    all().for_each(|bytes| input.extend_from_slice(bytes));

    let mut command = Command::new(python);
    // Another Python's settings must not reach this one.
    command.env_remove("PYTHONHOME").env_remove("PYTHONPATH").kill_on_drop(true);
    command.args(["-c", LOOK]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // A Python that ends early says why in its output.
            let _ = stdin.write_all(&input).await;
        }
    };
    let ((), output) = tokio::join!(write, child.wait_with_output());
    let output = output?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(LookError::Refused(said.lines().last().unwrap_or("it says nothing").to_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
