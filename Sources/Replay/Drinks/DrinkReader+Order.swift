import Bluetooth
import BottleProtocol

// Deliveries that wait: for another bottle's transfer that holds earlier frames, or for a better bottle.

extension DrinkReader {
    /// Lets go of what waits for no transfer any more.
    func releaseInOrder(after side: ServerSide) throws {
        let open = conversation?.openLogs.lazy.filter { $0 !== side }.compactMap { $0.log.pointee.openSince }.min()
        try release(before: open ?? .max)
    }

    func release(before frame: Int) throws {
        guard earliestWaiting < frame else { return }
        let sorted = waiting.enumerated().sorted { ($0.element.frame, $0.offset) < ($1.element.frame, $1.offset) }.map(
            \.element)
        let ready = sorted.prefix { $0.frame < frame }
        waiting = Array(sorted[ready.endIndex...])
        earliestWaiting = waiting.first?.frame ?? .max
        for delivery in ready { try deliver(delivery) }
    }

    // MARK: doubt

    /// Frames from a bottle that is known by discovery, by the caller, or by its answers to commands: whoever merely
    /// sends the same bytes is somebody else (rule 8).
    func refuteDoubts(for peer: BottlePeer) throws {
        guard doubt == .open else { return }
        doubt = .refuted
        try settleDoubtful(for: peer)
    }

    /// What the same device said before was a bottle's word then, too. Of the others it may still turn out whose they
    /// are, by their log.
    func settleDoubtful(for peer: BottlePeer) throws {
        let held = doubtful
        doubtful = []
        for delivery in held {
            if delivery.bottle === peer || ledger.isTrusted(ledger.holder(of: delivery.account)) {
                try deliver(delivery)
            } else {
                doubtful.append(delivery)
            }
        }
    }

    /// The capture is over: whoever is still held only looked like a bottle, and knows nobody's drinks.
    func rejectDoubtful() {
        tally.lookalikes += doubtful.count
        for delivery in doubtful { ledger.reject(delivery.account) }
        doubtful = []
    }

    func releaseDoubtful() throws {
        doubt = .accepted
        let held = doubtful
        doubtful = []
        for delivery in held { try deliver(delivery) }
    }
}
