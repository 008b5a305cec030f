//! Ikkai's report consumer: a CSV file and a page with charts for each report.generate job, in S3.
