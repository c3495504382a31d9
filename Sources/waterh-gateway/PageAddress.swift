import Synchronization

/// The address of the page for a browser on this machine.
final class PageAddress: Sendable {
    private let held = Mutex<String?>(nil)

    /// - Parameter place: a bound address, such as `http://0.0.0.0:8077/`; a Unix socket is ignored.
    func set(_ place: String) {
        guard place.hasPrefix("http://") else { return }
        held.withLock {
            $0 = place.replacing("//0.0.0.0:", with: "//127.0.0.1:").replacing("//[::]:", with: "//[::1]:")
        }
    }

    func page(_ path: String) -> String? { held.withLock { $0.map { $0.dropLast() + path } } }
}
