import Synchronization

/// The address of the page for a browser on this machine.
final class PageAddress: Sendable {
    private let address = Mutex<String?>(nil)

    /// Stores the page's address; an address for all interfaces becomes the loopback address.
    /// - Parameter bound: the bound address, such as `http://0.0.0.0:8077/`; a Unix socket is ignored.
    func set(_ bound: String) {
        guard bound.hasPrefix("http://") else { return }
        address.withLock {
            $0 = bound.replacing("//0.0.0.0:", with: "//127.0.0.1:").replacing("//[::]:", with: "//[::1]:")
        }
    }

    func page(_ path: String) -> String? { address.withLock { $0.map { $0.dropLast() + path } } }
}
