import NIOCore
import Store
import TrackerCore
import TrackerDesk

extension Person {
    /// How often the store is asked whether the file has to be written anew.
    static let fileLookEvery = Duration.milliseconds(500)

    /// Keeps the state in a file beside the store, for programs that ask nobody (tracker law Section 10.7): written when it says something else
    /// than before, looked at once a minute although nothing was written. Goes on until the task is cancelled.
    /// - Parameter trouble: takes what goes wrong, once until it changes.
    public func keepStateFile(trouble: @escaping @Sendable (String) -> Void) async {
        var written: (mark: TrackerStore.ChangeMark, at: Instant, tag: String)?
        var lastTrouble: String?
        while !Task.isCancelled {
            do {
                let desk = try desk()
                let mark = try desk.store.changeMark()
                if written.map({ $0.mark != mark || abs($0.at.seconds(to: desk.now)) >= StateFeed.tickSeconds }) ?? true {
                    let text = try await feed.current()
                    if text.tag != written?.tag { try desk.store.writeStateFile(Array(text.bytes.readableBytesView)) }
                    written = (mark, desk.now, text.tag)
                }
                lastTrouble = nil
            } catch {
                let words = FileTrouble.words(error)
                if lastTrouble != words { trouble(words) }
                lastTrouble = words
            }
            try? await Task.sleep(for: Self.fileLookEvery)
        }
    }
}
