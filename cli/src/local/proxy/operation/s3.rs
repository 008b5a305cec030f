//! Requests of S3, addressed by path: by method, depth of the path and query.
//!
//! Names after the API reference (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html>).

use http::{HeaderMap, Method, Uri};

use super::{Subject, decoded};

/// Names the copies, whose source is in a header and not in the path.
const COPY_SOURCE: &str = "x-amz-copy-source";

/// What an S3 request asks for.
pub(super) fn subject(method: &Method, uri: &Uri, headers: &HeaderMap) -> Subject {
    let path = uri.path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let query = Query(uri.query().unwrap_or_default());
    let operation = match (bucket.is_empty(), key.is_empty()) {
        (true, _) => of_service(method),
        (false, true) => of_bucket(method, &query),
        (false, false) => of_object(method, &query, headers.contains_key(COPY_SOURCE)),
    };
    Subject {
        operation: format!("s3.{operation}"),
        target: (!bucket.is_empty()).then(|| bucket.to_owned()),
        object: (!key.is_empty()).then(|| decoded(key)),
        ..Subject::default()
    }
}

fn of_service(method: &Method) -> &str {
    if method == Method::GET { "ListBuckets" } else { method.as_str() }
}

fn of_bucket<'a>(method: &'a Method, query: &Query<'_>) -> &'a str {
    match method.as_str() {
        "GET" if query.has("uploads") => "ListMultipartUploads",
        "GET" if query.has("versions") => "ListObjectVersions",
        "GET" if query.has("list-type") => "ListObjectsV2",
        "GET" => "ListObjects",
        "POST" if query.has("delete") => "DeleteObjects",
        "PUT" => "CreateBucket",
        "HEAD" => "HeadBucket",
        "DELETE" => "DeleteBucket",
        other => other,
    }
}

fn of_object<'a>(method: &'a Method, query: &Query<'_>, copies: bool) -> &'a str {
    let of_upload = query.has("uploadId");
    match method.as_str() {
        "PUT" if of_upload && copies => "UploadPartCopy",
        "PUT" if of_upload => "UploadPart",
        "PUT" if query.has("tagging") => "PutObjectTagging",
        "PUT" if copies => "CopyObject",
        "PUT" => "PutObject",
        "POST" if of_upload => "CompleteMultipartUpload",
        "POST" if query.has("uploads") => "CreateMultipartUpload",
        "GET" if of_upload => "ListParts",
        "GET" if query.has("tagging") => "GetObjectTagging",
        "GET" if query.has("attributes") => "GetObjectAttributes",
        "GET" => "GetObject",
        "HEAD" => "HeadObject",
        "DELETE" if of_upload => "AbortMultipartUpload",
        "DELETE" => "DeleteObject",
        other => other,
    }
}

/// The query, of which only the names matter here.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.split('&').any(|pair| pair.split('=').next() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn operation(method: Method, uri: &'static str) -> String {
        subject(&method, &Uri::from_static(uri), &HeaderMap::new()).operation
    }

    #[test]
    fn objects_and_buckets_are_told_apart() {
        let object = subject(&Method::PUT, &Uri::from_static("/code/a.zip?x-id=PutObject"), &HeaderMap::new());
        let bucket = subject(&Method::PUT, &Uri::from_static("/code"), &HeaderMap::new());
        assert_eq!((object.operation.as_str(), object.target.as_deref()), ("s3.PutObject", Some("code")));
        assert_eq!(object.object.as_deref(), Some("a.zip"));
        assert_eq!((bucket.operation.as_str(), bucket.object), ("s3.CreateBucket", None));
        assert_eq!(operation(Method::GET, "/"), "s3.ListBuckets");
    }

    #[test]
    fn a_key_is_named_as_it_is_and_not_as_the_path_writes_it() {
        let uri = Uri::from_static("/assets/uploads/summer%202031/a%20b%2Bc.jpg?x-id=GetObject&versionId=3");
        let subject = subject(&Method::GET, &uri, &HeaderMap::new());
        assert_eq!(subject.operation, "s3.GetObject");
        assert_eq!(subject.object.as_deref(), Some("uploads/summer 2031/a b+c.jpg"));
    }

    #[test]
    fn every_step_of_a_multipart_upload_has_its_name() {
        let steps = [
            (Method::POST, "/reports/a.csv?uploads", "s3.CreateMultipartUpload"),
            (Method::PUT, "/reports/a.csv?partNumber=1&uploadId=u&x-id=UploadPart", "s3.UploadPart"),
            (Method::GET, "/reports/a.csv?uploadId=u&x-id=ListParts", "s3.ListParts"),
            (Method::POST, "/reports/a.csv?uploadId=u", "s3.CompleteMultipartUpload"),
            (Method::DELETE, "/reports/a.csv?uploadId=u&x-id=AbortMultipartUpload", "s3.AbortMultipartUpload"),
            (Method::GET, "/reports?uploads", "s3.ListMultipartUploads"),
        ];
        for (method, uri, expected) in steps {
            assert_eq!(operation(method, uri), expected);
        }
    }

    #[test]
    fn copies_are_told_from_uploads_by_their_source() {
        let mut headers = HeaderMap::new();
        headers.insert(COPY_SOURCE, HeaderValue::from_static("/assets/a.jpg"));
        let copy = |uri: &'static str| subject(&Method::PUT, &Uri::from_static(uri), &headers).operation;
        assert_eq!(copy("/assets/b.jpg"), "s3.CopyObject");
        assert_eq!(copy("/assets/b.jpg?partNumber=2&uploadId=u"), "s3.UploadPartCopy");
    }

    #[test]
    fn lists_and_looks_have_their_names() {
        assert_eq!(operation(Method::GET, "/assets?list-type=2&prefix=derived%2F"), "s3.ListObjectsV2");
        assert_eq!(operation(Method::GET, "/assets?versions"), "s3.ListObjectVersions");
        assert_eq!(operation(Method::GET, "/assets?prefix=uploads"), "s3.ListObjects");
        assert_eq!(operation(Method::HEAD, "/assets/a.jpg"), "s3.HeadObject");
        assert_eq!(operation(Method::POST, "/assets?delete"), "s3.DeleteObjects");
        assert_eq!(operation(Method::PATCH, "/assets/a.jpg"), "s3.PATCH");
    }
}
