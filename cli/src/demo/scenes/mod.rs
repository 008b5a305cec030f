//! What is played. Each scene prepares a fault, posts a job, and tells what it saw; what every job is promised is compared in
//! [`Job::play`](super::job::Job::play).

mod crashes;
mod dead;
mod deliveries;
mod leases;
mod normal;
mod provider;

use super::calls::NormalJob;
use super::job::JobOutcome;
use super::stage::Stage;

/// The main job: the normal one alone, so that its calls can be counted; then all others side by side.
pub(super) async fn main(stage: &Stage<'_>) -> (Vec<JobOutcome>, Option<NormalJob>) {
    let (normal, measured) = normal::a_normal_job(stage).await;
    let (same, twice, flaky, unknown, broken, before, after, down, long) = tokio::join!(
        deliveries::the_same_post_five_times(stage),
        deliveries::delivered_twice_more(stage),
        provider::a_flaky_provider(stage),
        dead::an_unknown_user(stage),
        dead::a_broken_body(stage),
        crashes::killed_before_its_mail(stage),
        crashes::killed_after_its_mail(stage),
        provider::a_provider_that_is_down(stage),
        leases::longer_than_its_lease(stage),
    );
    (vec![normal, same, twice, flaky, unknown, broken, before, after, down, long], measured)
}
