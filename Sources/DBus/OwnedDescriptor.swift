import Glibc
import Synchronization

/// A file descriptor with an owner: closed with the last reference, unless somebody took it.
package final class OwnedDescriptor: Sendable {
    private let held: Mutex<Int32?>

    /// - Parameter descriptor: an open descriptor that nobody else will close. A negative one is none: libdbus hands
    ///   that out when the process has no descriptors left, and nobody may watch it.
    package init(_ descriptor: Int32) {
        held = Mutex(descriptor >= 0 ? descriptor : nil)
    }

    deinit {
        held.withLock { descriptor in
            if let descriptor { Glibc.close(descriptor) }
        }
    }

    /// Hands the descriptor over: the caller closes it. `nil` when somebody else already took it.
    package func take() -> Int32? {
        held.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
    }

    /// The number, while it is held. Valid as long as this object is referenced.
    package var number: Int32? { held.withLock { $0 } }
}

extension OwnedDescriptor: Hashable {
    package static func == (left: OwnedDescriptor, right: OwnedDescriptor) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
