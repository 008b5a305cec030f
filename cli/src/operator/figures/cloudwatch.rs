//! Calls of CloudWatch, signed here: its SDK brings a licence that this project does not take (minicbor, BlueOak).

use aws_config::SdkConfig;
use http::header;
use serde_json::Value;

use super::signed_post::{PostError, SignedPost};

/// What stands before an operation in AWS's JSON protocol
/// (<https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html>).
const SERVICE: &str = "GraniteServiceVersion20100801";

/// CloudWatch did not tell.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FiguresError {
    /// There was no answer.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The answer was a refusal.
    #[error("CloudWatch refuses (cloudwatch:{operation}): {told}")]
    Refused {
        /// The operation, which is the permission's name too.
        operation: &'static str,
        /// What CloudWatch said.
        told: String,
    },
}

/// CloudWatch in one region.
#[derive(Debug)]
pub(super) struct CloudWatch(SignedPost);

impl CloudWatch {
    /// In the region, and at the endpoint, of these settings.
    pub(super) fn new(config: &SdkConfig) -> Result<Self, FiguresError> {
        let region = config.region().ok_or(PostError::Setting("region"))?.to_string();
        let endpoint = default_endpoint(&region);
        Ok(Self(SignedPost::new(config, "CloudWatch", "monitoring", region, endpoint)?))
    }

    /// Asks.
    pub(super) async fn ask(&self, operation: &'static str, query: &Value) -> Result<Value, FiguresError> {
        let target = format!("{SERVICE}.{operation}");
        let headers = [(header::CONTENT_TYPE.as_str(), "application/x-amz-json-1.0"), ("x-amz-target", &target)];
        let (status, body) = self.0.send(&headers, query.to_string()).await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if !status.is_success() {
            let told = ["message", "Message", "__type"].iter().find_map(|member| answer[member].as_str());
            let told = told.map_or_else(|| format!("status {status}"), ToOwned::to_owned);
            return Err(FiguresError::Refused { operation, told });
        }
        Ok(answer)
    }
}

/// Where CloudWatch is in a region (<https://docs.aws.amazon.com/general/latest/gr/cw_region.html>).
fn default_endpoint(region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://monitoring.{region}.{domain}")
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::Full;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;
    use crate::local::aws::sdk_config;

    type Seen = Arc<Mutex<Vec<http::request::Parts>>>;

    async fn served(status: u16, body: &'static str) -> (SocketAddr, Seen) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Seen::default());
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(|request: Request<hyper::body::Incoming>| {
                log.lock().unwrap().push(request.into_parts().0);
                async move { Response::builder().status(status).body(Full::new(Bytes::from(body))) }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        (address, seen)
    }

    #[tokio::test]
    async fn the_question_is_signed_for_cloudwatch() {
        let (address, seen) = served(200, r#"{"MetricDataResults":[]}"#).await;
        let answer = CloudWatch::new(&sdk_config(address)).unwrap().ask("GetMetricData", &json!({})).await.unwrap();
        assert_eq!(answer, json!({"MetricDataResults": []}));
        let seen = seen.lock().unwrap();
        let headers = &seen[0].headers;
        assert_eq!(headers["x-amz-target"], "GraniteServiceVersion20100801.GetMetricData");
        assert!(headers["authorization"].to_str().unwrap().contains("/us-east-1/monitoring/aws4_request"));
    }

    #[tokio::test]
    async fn a_refusal_and_silence_are_told() {
        let (address, _) = served(400, r#"{"__type":"AccessDenied","message":"not allowed"}"#).await;
        let error = CloudWatch::new(&sdk_config(address)).unwrap().ask("GetMetricData", &json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), "CloudWatch refuses (cloudwatch:GetMetricData): not allowed");
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = CloudWatch::new(&sdk_config(nobody)).unwrap().ask("GetMetricData", &json!({})).await.unwrap_err();
        assert!(matches!(error, FiguresError::Post(PostError::Unreachable { .. })), "{error}");
    }

    #[test]
    fn china_has_a_domain_of_its_own() {
        assert_eq!(default_endpoint("eu-central-1"), "https://monitoring.eu-central-1.amazonaws.com");
        assert_eq!(default_endpoint("cn-north-1"), "https://monitoring.cn-north-1.amazonaws.com.cn");
    }
}
