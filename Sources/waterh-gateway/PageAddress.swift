import Synchronization

/// Where a browser of this machine finds the page, once it is shown.
final class PageAddress: Sendable {
    private let held = Mutex<String?>(nil)

    /// - Parameter place: an address in use, as `http://0.0.0.0:8077/`; a socket is no place for a browser.
    func set(_ place: String) {
        guard place.hasPrefix("http://") else { return }
        held.withLock {
            $0 = place.replacing("//0.0.0.0:", with: "//127.0.0.1:").replacing("//[::]:", with: "//[::1]:")
        }
    }

    /// A page of it, by its path.
    func page(_ path: String) -> String? { held.withLock { $0.map { $0.dropLast() + path } } }
}
