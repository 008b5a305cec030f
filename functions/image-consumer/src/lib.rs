//! Ikkai's image consumer: the sizes and formats of one picture for each image.resize job, in S3.
