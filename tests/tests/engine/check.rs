//! What the engine does as AWS does, measured anew.

use std::collections::BTreeMap;

use ikkai_cli::local::build;
use ikkai_cli::local::check::{Clients, Code, FUNCTION, Lab, Place, Record, Verdict, all, local_config, records, run};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::progress::Progress;

use crate::harness::on_engine;

#[test]
fn the_engine_does_what_its_kept_record_says() {
    on_engine(async |lab| {
        let url = format!("http://{}", lab.aws.address());
        let place = Place::engine_at(&url).await.expect("an engine");
        let checkout = Checkout::find().expect("a checkout");
        let kept = records(&checkout).expect("records").into_iter().find(|record| record.engine == place.engine());
        let kept = kept.expect("this engine was measured");
        assert_eq!(kept.version, place.version(), "a new version is measured anew: `ikkai local check --record`");

        let package = build::package(&checkout, FUNCTION, &Progress::silent()).await.expect("the function");
        let code = Code::of_zip(FUNCTION, package.zip).expect("a program for this machine");
        let bench = Lab::new(Clients::new(&local_config(&url)), place, Some(code));
        let ended = run(&bench, &all(), &Progress::silent()).await;
        assert_eq!(ended.left, [] as [String; 0]);
        let verdicts = |record: &Record| -> BTreeMap<String, Option<Verdict>> {
            record.probes.iter().map(|measured| (measured.probe.clone(), measured.verdict)).collect()
        };
        let (now, then) = (verdicts(&ended.record), verdicts(&kept));
        let changed: Vec<_> =
            ended.record.probes.iter().filter(|measured| now.get(&measured.probe) != then.get(&measured.probe)).collect();
        assert!(changed.is_empty(), "not as in the record: {changed:#?}");
    });
}
