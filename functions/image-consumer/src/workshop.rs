//! Where pictures are made: threads for the processors, and room for their memory.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
    time::timeout,
};

use crate::{
    cancel::Cancel,
    capacity::{Capacity, Room, Taken},
    picture_error::PictureError,
    render::{Output, RenderSettings, Rendering},
};

const MB: u64 = 1024 * 1024;

/// Makes pictures, as many at a time as there are processors, and within the memory that there is.
#[derive(Debug)]
pub(crate) struct Workshop {
    cpus: Arc<Semaphore>,
    originals: Room,
    pictures: Room,
}

/// What shall be made of an original.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) original: Bytes,
    pub(crate) sizes: Vec<u32>,
    pub(crate) formats: Vec<ikkai::job::ImageFormat>,
    pub(crate) settings: RenderSettings,
}

/// Outputs, and the room that they take until they are written.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outputs: Vec<Output>,
    pub(crate) source_format: &'static str,
    pub(crate) source_dimensions: (u32, u32),
    _room: Taken,
}

/// Why an order was not finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotFinished {
    /// The original, or its size.
    Picture(PictureError),
    /// No room or processor became free in time; nothing was begun.
    Waited,
    /// It took longer than there was time.
    CutOff,
}

/// When an order has to be through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Longest wait for room and a processor.
    pub(crate) waiting: Duration,
    /// Longest work once it has begun.
    pub(crate) working: Duration,
}

impl Workshop {
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self {
            cpus: Arc::new(Semaphore::new(capacity.cpus)),
            originals: Room::new(capacity.originals_bytes),
            pictures: Room::new(capacity.pictures_bytes),
        }
    }

    /// Room for originals.
    pub(crate) fn originals(&self) -> &Room {
        &self.originals
    }

    /// Makes the pictures. When it returns, its threads have ended; when it is dropped, they end at their next step, and keep their room
    /// until then.
    pub(crate) async fn finish(&self, order: Order, held: Taken, patience: Patience) -> Result<Finished, NotFinished> {
        let cancel = Cancel::default();
        let _guard = cancel.on_drop();
        let Order { original, sizes, formats, settings } = order;

        let plan = self.on_a_processor(patience, (), move |()| Rendering::plan(original, &sizes, &formats, &settings)).await?;
        let rendering = plan.map_err(NotFinished::Picture)?;
        let needed = rendering.working_bytes();
        if !self.pictures.could_hold(needed) {
            return Err(NotFinished::Picture(PictureError::TooMuchMemory {
                needed_mb: needed.div_ceil(MB),
                limit_mb: self.pictures.total_bytes() / MB,
            }));
        }
        let room = timeout(patience.waiting, self.pictures.take(needed)).await;
        let room = room.ok().flatten().ok_or(NotFinished::Waited)?;

        let (source_format, source_dimensions) = (rendering.source_format(), rendering.source_dimensions());
        let on_thread = cancel.clone();
        let work = self.on_a_processor(patience, (room, held), move |(mut room, held)| {
            let outputs = rendering.run(&on_thread)?;
            drop(held);
            room.shrink_to(outputs.iter().map(|output| output.bytes.len() as u64).sum());
            Ok((outputs, room))
        });
        // The wait for a processor comes on top: only work is cut off, and it is waited for to the end of its step.
        let mut work = std::pin::pin!(work);
        let done = match timeout(patience.waiting + patience.working, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                cancel.cancel();
                work.await
            }
        };
        match done? {
            Ok((outputs, room)) => Ok(Finished { outputs, source_format, source_dimensions, _room: room }),
            Err(PictureError::Cancelled) => Err(NotFinished::CutOff),
            Err(error) => Err(NotFinished::Picture(error)),
        }
    }

    /// Runs a step on a thread of its own, as soon as a processor is free. What the step holds goes with it: a thread whose caller is gone
    /// goes on to its next look at the flag, and its memory must not be given out before.
    async fn on_a_processor<H, T, F>(&self, patience: Patience, held: H, step: F) -> Result<T, NotFinished>
    where
        H: Send + 'static,
        T: Send + 'static,
        F: FnOnce(H) -> T + Send + 'static,
    {
        let waiting = timeout(patience.waiting, Arc::clone(&self.cpus).acquire_owned()).await;
        let cpu = waiting.ok().and_then(Result::ok).ok_or(NotFinished::Waited)?;
        let step = spawn_blocking(move || {
            let answer = step(held);
            drop(cpu);
            answer
        });
        step.await.map_err(resume)
    }
}

/// A panic on the thread goes on here, where the kit keeps it to its record.
fn resume(error: JoinError) -> NotFinished {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        // Threads are not aborted; the runtime that ends is the only other cause.
        Err(_) => NotFinished::CutOff,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ikkai::job::ImageFormat;
    use image::RgbImage;

    use super::*;
    use crate::encode::Encoding;

    const PATIENCE: Patience = Patience { waiting: Duration::from_secs(10), working: Duration::from_secs(10) };

    fn workshop(pictures_bytes: u64) -> Workshop {
        Workshop::new(Capacity { cpus: 1, originals_bytes: MB, pictures_bytes })
    }

    fn order(side: u32) -> Order {
        let mut original = Vec::new();
        let picture = RgbImage::from_fn(side, side, |x, y| image::Rgb([x as u8, y as u8, 90]));
        picture.write_to(&mut Cursor::new(&mut original), image::ImageFormat::Jpeg).unwrap();
        let encoding = Encoding { background: [255; 3], jpeg_quality: 80, webp_quality: 80 };
        let settings = RenderSettings { encoding, max_pixels: 1_000_000, enlarge: false };
        Order { original: original.into(), sizes: vec![32], formats: vec![ImageFormat::Jpeg], settings }
    }

    async fn held(workshop: &Workshop) -> Taken {
        workshop.originals().take(1024).await.unwrap()
    }

    #[tokio::test]
    async fn outputs_keep_their_own_room_and_give_the_rest_back() {
        let workshop = workshop(8 * MB);
        let held = held(&workshop).await;
        let finished = workshop.finish(order(64), held, PATIENCE).await.unwrap();
        assert_eq!((finished.outputs.len(), finished.source_dimensions), (1, (64, 64)));
        assert!(workshop.originals().try_take(MB).is_some(), "the original is not needed any more");
        assert!(workshop.pictures.try_take(8 * MB).is_none());
        assert!(workshop.pictures.try_take(7 * MB).is_some());
        drop(finished);
        assert!(workshop.pictures.try_take(8 * MB).is_some());
    }

    #[tokio::test]
    async fn what_never_fits_is_refused_and_what_does_not_fit_now_waits() {
        let small = workshop(1024);
        let error = small.finish(order(64), held(&small).await, PATIENCE).await.unwrap_err();
        assert!(matches!(error, NotFinished::Picture(PictureError::TooMuchMemory { needed_mb: 1, limit_mb: 0 })), "{error:?}");

        let workshop = Arc::new(workshop(8 * MB));
        let others = workshop.pictures.take(8 * MB).await.unwrap();
        let held = held(&workshop).await;
        let waiting = tokio::spawn({
            let workshop = workshop.clone();
            async move { workshop.finish(order(64), held, PATIENCE).await.map(|finished| finished.outputs.len()) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(others);
        assert_eq!(waiting.await.unwrap(), Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_too_long_begins_nothing() {
        let workshop = workshop(8 * MB);
        let all = workshop.pictures.take(8 * MB).await.unwrap();
        let error = workshop.finish(order(64), held(&workshop).await, PATIENCE).await.unwrap_err();
        assert_eq!(error, NotFinished::Waited);
        drop(all);
        let busy = workshop.cpus.clone().acquire_owned().await.unwrap();
        assert_eq!(workshop.finish(order(64), held(&workshop).await, PATIENCE).await.unwrap_err(), NotFinished::Waited);
        drop(busy);
        assert!(workshop.finish(order(64), held(&workshop).await, PATIENCE).await.is_ok());
    }

    #[tokio::test]
    async fn work_that_is_cut_off_has_ended_when_the_answer_comes() {
        let workshop = workshop(64 * MB);
        let patience = Patience { waiting: Duration::ZERO, working: Duration::ZERO };
        let error = workshop.finish(order(900), held(&workshop).await, patience).await.unwrap_err();
        assert_eq!(error, NotFinished::CutOff);
        assert_eq!(workshop.cpus.available_permits(), 1);
        assert!(workshop.pictures.try_take(64 * MB).is_some());
        assert!(workshop.originals().try_take(MB).is_some());
    }

    #[tokio::test]
    async fn a_thread_whose_caller_is_gone_ends_by_itself_and_gives_everything_back() {
        let workshop = workshop(64 * MB);
        {
            let held = held(&workshop).await;
            let mut work = std::pin::pin!(workshop.finish(order(900), held, PATIENCE));
            while workshop.pictures.try_take(64 * MB).is_some() {
                let _ = tokio::time::timeout(Duration::from_millis(1), &mut work).await;
            }
        }
        // Comes back when the thread has seen the flag.
        assert!(workshop.pictures.take(64 * MB).await.is_some());
        assert!(workshop.originals().take(MB).await.is_some());
    }
}
