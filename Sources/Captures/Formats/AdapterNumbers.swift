/// Which adapter each interface of a pcapng file is.
///
/// Every section numbers its interfaces anew, so that one adapter has an interface in each. A section goes on where the
/// one before ended when its interface has the same place, kind and name, and its time does not run back; otherwise it
/// is somebody else.
struct AdapterNumbers {
    private struct Kind: Hashable {
        var index: Int
        var linkType: LinkType
        var name: [UInt8]
    }

    private var next: UInt32 = 0
    /// Of the sections before that go on in one another, and of this one.
    private var before: [Kind: UInt32] = [:]
    private var here: [Kind: UInt32] = [:]
    private var latest: CaptureTime?
    private var latestBefore: CaptureTime?
    private var isFirstOfSection = true
    private var runsBack = false

    mutating func beginSection() {
        // A section without a packet changes nothing.
        guard !isFirstOfSection else { return }
        // Who was silent in the section may speak again in the next one.
        before = runsBack ? here : before.merging(here) { $1 }
        here = [:]
        latestBefore = latest
        isFirstOfSection = true
    }

    /// Takes every packet's time.
    /// - Parameter tick: of the interface's clock. It cuts what is finer, which is not running back. Asked for once a
    ///   section.
    mutating func note(_ time: CaptureTime?, tick: @autoclosure () -> Duration) {
        if isFirstOfSection {
            isFirstOfSection = false
            let cut = max(tick(), .nanoseconds(1))
            runsBack = time.flatMap { time in latestBefore.map { $0.sinceEpoch - time.sinceEpoch >= cut } } ?? false
            latest = nil
        }
        // The last one, not the latest of all: a clock that was set back inside a section is still the clock that the
        // next section goes on with.
        if let time { latest = time }
    }

    mutating func number(index: Int, _ linkType: LinkType, _ name: [UInt8]) -> UInt32 {
        let kind = Kind(index: index, linkType: linkType, name: name)
        let number: UInt32
        if !runsBack, let known = before[kind] {
            number = known
        } else {
            number = next
            next += 1
        }
        here[kind] = number
        return number
    }
}
