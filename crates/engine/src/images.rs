//! The images of one block, as many as are wanted of them.

use bytes::Bytes;
use codehatch_protocol::Image;

use crate::keep;

/// Images of one block.
const MAX_IMAGES: usize = 16;

/// What a block has sent as images.
#[derive(Debug)]
pub(crate) struct Images {
    limit: usize,
    kept: Vec<(String, Bytes)>,
    /// Dropped: no images, or too large.
    unfit: u64,
    /// Dropped: one too many.
    excess: u64,
}

impl Images {
    /// Takes images of at most `limit` bytes each.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            unfit: 0,
            excess: 0,
        }
    }

    pub(crate) fn push(&mut self, image: &Image) {
        if self.kept.len() == MAX_IMAGES {
            self.excess += 1;
            return;
        }
        let bytes = keep::decode_base64(&image.data, self.limit);
        match bytes.filter(|_| image.mime_type.starts_with("image/")) {
            Some(bytes) => self.kept.push((image.mime_type.clone(), bytes)),
            None => self.unfit += 1,
        }
    }

    /// The images that were kept, and what is to be said of the others.
    pub(crate) fn finish(self) -> (Vec<(String, Bytes)>, Vec<String>) {
        let mut notes = Vec::new();
        if self.unfit > 0 {
            notes.push(format!(
                "{} dropped: no image of at most {} bytes",
                counted(self.unfit),
                self.limit
            ));
        }
        if self.excess > 0 {
            notes.push(format!(
                "{} dropped: a block has at most {MAX_IMAGES}",
                counted(self.excess)
            ));
        }
        (self.kept, notes)
    }
}

fn counted(images: u64) -> String {
    if images == 1 {
        "an image was".to_owned()
    } else {
        format!("{images} images were")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(mime_type: &str, data: &str) -> Image {
        Image {
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
        }
    }

    #[test]
    fn what_is_dropped_is_counted_and_said_once() {
        let mut images = Images::new(4);
        images.push(&image("image/png", "AAAA"));
        images.push(&image("image/png", "AAAAAAAA"));
        images.push(&image("text/html", "AAAA"));
        images.push(&image("image/png", "!"));
        for _ in 0..20 {
            images.push(&image("image/gif", ""));
        }
        let (kept, notes) = images.finish();
        assert_eq!(kept.len(), 16);
        assert_eq!(
            kept[0],
            ("image/png".to_owned(), Bytes::from_static(&[0; 3]))
        );
        assert_eq!(
            notes,
            [
                "3 images were dropped: no image of at most 4 bytes",
                "5 images were dropped: a block has at most 16"
            ]
        );
    }
}
