import Glibc
import Synchronization

/// A file descriptor that is closed with the last reference, unless `take` removed it.
package final class OwnedDescriptor: Sendable {
    private let descriptorIfOwned: Mutex<Int32?>

    /// - Parameter descriptor: an open descriptor. libdbus gives a negative one for too many open files.
    package init(_ descriptor: Int32) {
        descriptorIfOwned = Mutex(descriptor >= 0 ? descriptor : nil)
    }

    deinit {
        descriptorIfOwned.withLock { descriptor in
            if let descriptor { Glibc.close(descriptor) }
        }
    }

    /// Returns the descriptor, which the caller must close; `nil` if it was already taken.
    package func take() -> Int32? {
        descriptorIfOwned.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
    }

    /// The descriptor number. Valid while this object is referenced.
    package var number: Int32? { descriptorIfOwned.withLock { $0 } }
}

extension OwnedDescriptor: Hashable {
    package static func == (left: OwnedDescriptor, right: OwnedDescriptor) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
