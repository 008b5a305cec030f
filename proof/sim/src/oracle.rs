//! What has to be true when a run is over.

use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::JobId;

use crate::stage::Line;
use crate::world::World;

/// Looks at everything that was promised.
pub(crate) fn reckon(world: &World) {
    let accepted = world.all_accepted();
    for (job_id, _) in &accepted {
        match world.table.find(job_id) {
            Some(record) => ended(world, &record),
            None => world.broken(format!("a job that was accepted has no record: {job_id}")),
        }
    }
    for record in world.table.all() {
        if !accepted.iter().any(|(job_id, _)| *job_id == record.job_id) {
            unaccepted(world, &record);
        }
    }
}

/// A job whose client heard 202 has ended; a willing operator leaves none of them dead or in doubt.
fn ended(world: &World, record: &JobRecord) {
    let JobRecord { job_id, status, .. } = record;
    match status {
        Status::Succeeded => done(world, record),
        Status::Cancelled => {
            if Line::of_job(job_id.as_str()) == Line::Mail && world.mails.effects(job_id) > world.allowance(job_id) as usize {
                world.broken(format!("a cancelled job had its effect: {job_id}"));
            }
        }
        status => world.broken(format!("a job that was accepted is {status} in the end: {job_id}")),
    }
}

/// Done means that the effect happened, and once.
fn done(world: &World, record: &JobRecord) {
    let job_id = &record.job_id;
    let line = Line::of_job(job_id.as_str());
    let effects = world.provider(line).effects(job_id);
    let most = match line {
        Line::Mail => 1 + world.allowance(job_id) as usize,
        Line::Charge => 1,
    };
    if effects == 0 || effects > most {
        world.broken(format!("a job that succeeded had {effects} effects: {job_id}"));
    }
    if record.expires_at.is_none() {
        world.broken(format!("a job that succeeded is kept for ever: {job_id}"));
    }
}

/// A job whose client gave up, or a stray: it may wait for ever, but what it says is true.
fn unaccepted(world: &World, record: &JobRecord) {
    match record.status {
        Status::Succeeded => done(world, record),
        Status::Running => world.broken(format!("a job runs although nobody is at work: {}", record.job_id)),
        Status::Dead | Status::InDoubt if record.last_error.is_none() => {
            world.broken(format!("a job has ended without a reason: {}", record.job_id));
        }
        _ => {}
    }
}

/// A job that was posted once more after its record had expired has run once more.
pub(crate) fn lived_again(world: &World, line: Line, job_id: &JobId) {
    match (world.table.status(job_id), world.provider(line).effects(job_id)) {
        (Some(Status::Succeeded), 1) => {}
        (status, effects) => {
            let status = status.map_or("without a record", Status::as_str);
            world.broken(format!("a job whose key was free again is {status} after {effects} effects: {job_id}"));
        }
    }
}
