//! What the engine does as AWS does, measured anew.

use ikkai_cli::local::build;
use ikkai_cli::local::check::{Clients, Code, FUNCTION, Lab, Measured, Place, Probe, all, local_config, records, run};
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
        let changed = async |probes: &[Probe]| -> Vec<Measured> {
            let ended = run(&bench, probes, &Progress::silent()).await;
            assert_eq!(ended.left, [] as [String; 0]);
            let then = |probe: &str| kept.probes.iter().find(|measured| measured.probe == probe).map(|measured| measured.verdict);
            ended.record.probes.into_iter().filter(|measured| then(&measured.probe) != Some(measured.verdict)).collect()
        };
        // Many probes are about times, and a machine can be busy for a moment: what seems to have changed is measured once more.
        let seemingly = changed(&all()).await;
        let again: Vec<Probe> =
            all().into_iter().filter(|probe| seemingly.iter().any(|measured| measured.probe == probe.id)).collect();
        let changed = changed(&again).await;
        assert!(changed.is_empty(), "not as in the record: {changed:#?}");
    });
}
