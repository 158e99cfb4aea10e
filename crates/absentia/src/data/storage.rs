//! Slices that are borrowed, owned or mapped from a file, behind one type.

use std::sync::Arc;

/// A read-only slice: borrowed from the caller for `'a`, or shared and kept alive by a count.
///
/// A vector, a memory-mapped file and a buffer owned by another language all come in as
/// [`Storage::Shared`]: anything that can show a slice. Cloning never copies elements.
#[derive(Clone)]
pub enum Storage<'a, T> {
    /// Borrowed from the caller.
    Borrowed(&'a [T]),
    /// Kept alive by a reference count.
    Shared(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T: Send + Sync + 'static> Storage<'_, T> {
    /// Yields storage over anything that can show a slice, without copying it.
    pub fn shared(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        Storage::Shared(Arc::new(owner))
    }
}

impl<T: Clone + Send + Sync + 'static> Storage<'_, T> {
    /// Yields storage that borrows nothing; copies only borrowed elements.
    #[must_use]
    pub fn into_owned(self) -> Storage<'static, T> {
        match self {
            Storage::Borrowed(slice) => slice.to_vec().into(),
            Storage::Shared(owner) => Storage::Shared(owner),
        }
    }
}

impl<T> std::ops::Deref for Storage<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Storage::Borrowed(slice) => slice,
            Storage::Shared(owner) => (**owner).as_ref(),
        }
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Storage<'_, T> {
    fn from(owned: Vec<T>) -> Self {
        Storage::shared(owned)
    }
}

impl<'a, T> From<&'a [T]> for Storage<'a, T> {
    fn from(borrowed: &'a [T]) -> Self {
        Storage::Borrowed(borrowed)
    }
}

impl<T: PartialEq> PartialEq for Storage<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T> std::fmt::Debug for Storage<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            Storage::Borrowed(_) => "borrowed",
            Storage::Shared(_) => "shared",
        };
        write!(f, "Storage({kind}, {})", self.len())
    }
}
