//! The way of a replay: walk a feed through, then post what it has, the oldest first.
//!
//! Invariant: a delivery is posted in the order of its page, up to as many at once as agreed; so with one at a time the order is
//! the provider's, and with more it is off by no more than that. The version guard takes care of the rest.

use std::collections::HashSet;

use anyhow::Result;
use futures_util::StreamExt;

use crate::replay::feed::{Delivery, Feed, Page};
use crate::replay::journal::Journal;
use crate::replay::receiver::Receiver;
use crate::replay::report::thousands;
use crate::terminal::Progress;

pub(crate) struct Engine<'a> {
    pub(crate) receiver: &'a Receiver,
    pub(crate) journal: &'a mut Journal,
    pub(crate) concurrency: usize,
    pub(crate) progress: Progress,
}

impl Engine<'_> {
    pub(crate) async fn replay<F: Feed>(&mut self, feed: &F) -> Result<()> {
        if F::NEWEST_FIRST { self.backwards(feed).await } else { self.forwards(feed).await }
    }

    async fn forwards<F: Feed>(&mut self, feed: &F) -> Result<()> {
        let mut page = feed.page(None).await?;
        loop {
            let next = page.next.take();
            let (posted, fetched) = match &next {
                Some(cursor) => {
                    let (posted, fetched) = tokio::join!(self.post(page.deliveries), feed.page(Some(cursor)));
                    (posted, Some(fetched?))
                }
                None => (self.post(page.deliveries).await, None),
            };
            posted?;
            match fetched {
                Some(fetched) => page = fetched,
                None => return Ok(()),
            }
        }
    }

    async fn backwards<F: Feed>(&mut self, feed: &F) -> Result<()> {
        let cursors = self.survey(feed).await?;
        let mut left = cursors.iter().rev();
        let Some(last) = left.next() else { return Ok(()) };
        let mut page = feed.page(last.as_deref()).await?;
        loop {
            page.deliveries.reverse();
            // The next page is on its way while this one is posted.
            let next = match left.next() {
                Some(cursor) => {
                    let (posted, fetched) = tokio::join!(self.post(page.deliveries), feed.page(cursor.as_deref()));
                    posted?;
                    fetched?
                }
                None => return self.post(page.deliveries).await,
            };
            page = next;
        }
    }

    /// The cursors of all pages. What is older than a page does not change, so that each can be asked for again, and nothing has
    /// to be kept meanwhile: neither in memory, nor on a disk, where a payload has no business.
    async fn survey<F: Feed>(&mut self, feed: &F) -> Result<Vec<Option<String>>> {
        if let Some(cursors) = self.journal.cursors(&feed.name()) {
            return Ok(cursors.to_vec());
        }
        let (mut cursors, mut deliveries) = (vec![None], 0);
        let mut cursor: Option<String> = None;
        loop {
            let Page { deliveries: listed, next } = feed.page(cursor.as_deref()).await?;
            deliveries += listed.len() as u64;
            self.progress.show(&format!("{} found at {}", thousands(deliveries), feed.name()));
            if next.is_none() {
                break;
            }
            cursor = next;
            cursors.push(cursor.clone());
        }
        self.progress.clear();
        self.journal.surveyed(feed.name(), cursors.clone(), deliveries)?;
        Ok(cursors)
    }

    async fn post(&mut self, deliveries: Vec<Delivery>) -> Result<()> {
        let receiver = self.receiver;
        // A page may repeat what another had, and itself, where one event was sent to several places.
        let mut seen = HashSet::new();
        let mut is_new = |delivery: &Delivery| !self.journal.is_done(&delivery.id) && seen.insert(delivery.id.clone());
        let left: Vec<Delivery> = deliveries.into_iter().filter(|delivery| is_new(delivery)).collect();
        let posts = left.into_iter().map(|delivery| async move {
            let answer = receiver.post(&delivery).await;
            (delivery, answer)
        });
        let mut posts = futures_util::stream::iter(posts).buffer_unordered(self.concurrency);
        while let Some((delivery, answer)) = posts.next().await {
            self.journal.answered(&delivery, answer?)?;
            let tally = &self.journal.tally;
            let of = self.journal.expected();
            let of = if of > 0 { format!(" of {}", thousands(of)) } else { String::new() };
            self.progress.show(&format!("{}{of} posted, {} new", thousands(tally.fetched()), thousands(tally.new)));
        }
        Ok(())
    }
}
