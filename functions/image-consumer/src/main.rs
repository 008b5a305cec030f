//! The image consumer as a Lambda function.

use std::sync::Arc;

use ikkai::consumer::{self, Startup, StartupError};
use image_consumer::{ImageHandler, ImageSettings, S3Objects};

/// Several threads: pictures are made on threads of their own, and while they are, the others' downloads and uploads go on.
#[tokio::main]
async fn main() -> Result<(), StartupError> {
    consumer::run(image_handler).await
}

async fn image_handler(startup: &mut Startup) -> ImageHandler {
    let settings = ImageSettings::read(&mut startup.config);
    let objects = S3Objects::new(aws_sdk_s3::config::Builder::from(&startup.aws));
    if startup.settings.warm_up {
        objects.warm_up(startup.settings.batch_concurrency).await;
    }
    ImageHandler::new(Arc::new(objects), settings)
}
