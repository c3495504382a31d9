import BottleProtocol
import Bluetooth
import TrackerCore

// The part of a poll from the scan to a connection, with the recovery steps.
extension Poll {
    mutating func scan() {
        guard now < end else { return close(nil) }
        state = .scanning(until: now.advanced(by: limits.scan))
        reportProgress(.scanning)
        perform(.startScan)
    }

    mutating func processAdvertisement(_ advertisement: Advertisement) {
        guard !nearbyPeers.rejected.contains(advertisement.peer) else { return }
        nearbyPeers.add(advertisement)
        guard options.job != .scan else { return recordInRange(advertisement) }
        guard shouldConnect(advertisement) else { return }
        lastAdvertisement = advertisement
        report.rssi = advertisement.rssi
        report.name = advertisement.name.flatMap { BottleIdentity.name(Array($0.utf8)) }
        perform(.stopScan)
        state = .connecting(advertisement.peer, until: now.advanced(by: limits.connect + .milliseconds(500)))
        reportProgress(.connecting)
        perform(.connect(advertisement.peer, limit: limits.connect))
    }

    /// Stores the last advertisement of each bottle, for a scan without a connection.
    private mutating func recordInRange(_ advertisement: Advertisement) {
        guard !hasRadio || BottleSelector.looksLikeBottle(advertisement) else { return }
        guard let index = report.inRange.firstIndex(where: { $0.peer == advertisement.peer }) else {
            if report.inRange.count < Self.maximumInRange { report.inRange.append(advertisement) }
            return
        }
        let known = report.inRange[index]
        report.inRange[index] = advertisement
        report.inRange[index].name = advertisement.name ?? known.name
        report.inRange[index].rssi = advertisement.rssi ?? known.rssi
    }

    private static let maximumInRange = 32

    private mutating func shouldConnect(_ advertisement: Advertisement) -> Bool {
        guard hasRadio else { return true }
        let isSelected =
            options.bottle.map {
                BottleSelector(text: $0).matches(address: advertisement.address, name: advertisement.name)
            } ?? BottleSelector.looksLikeBottle(advertisement)
        guard isSelected else { return false }
        guard options.mightBeOwn(advertisement) else {
            if nearbyPeers.others.count < 16 { nearbyPeers.others[advertisement.peer] = advertisement }
            return false
        }
        return true
    }

    mutating func scanTimedOut() {
        perform(.stopScan)
        guard options.job != .scan else { return close(nil) }
        if !nearbyPeers.rejected.isEmpty, let failure = report.failure { return close(failure) }
        report.history.failedScans += 1
        fail(notFound)
    }

    private var notFound: LinkError {
        let seconds = Int((startedAt?.now.duration(to: now) ?? limits.scan) / .seconds(1))
        var facts = ["scanned for \(options.bottle ?? "a WaterH bottle") on \(linkName) for \(seconds) s"]
        if hasRadio { facts.append(nearbyPeers.summary(limit: 6)) }
        if let warning = nearbyPeers.scanWarning { facts.append(warning) }
        return LinkError(
            .notFound,
            "Could not find bottle. Make sure it's nearby. (\(facts.joined(separator: "; ")))\(otherBottlesText)",
            isTransient: true)
    }

    /// The failure of a poll whose time passed without a connection; `nil` if another error is the reason.
    mutating func timeoutFailure() -> PollFailure? {
        switch state {
        case .connecting(let peer, _):
            let name = report.name.map { "\($0) (\(peer))" } ?? "\(peer)"
            return PollFailure(
                .connectFailed, "\(name) was found, but did not connect within \(limits.poll).",
                linkError: .connectFailed)
        case .scanning, .pausing, .recovering:
            guard failures.keys.allSatisfy({ $0 == .notFound }) else { return nil }
            report.history.failedScans += 1
            return PollFailure(.notFound, notFound.description, linkError: .notFound, values: otherBottlesValues)
        default:
            return nil
        }
    }

    /// Records a warning of the link. If the scan finds no bottle, the message contains the warning.
    mutating func recordLinkWarning(_ sentence: String) {
        guard case .scanning = state else { return addDiagnostic(.warning, sentence) }
        nearbyPeers.scanWarning = sentence
        addDiagnostic(.info, sentence)
    }

    /// Sentences about bottles in range that do not belong to this store; empty if there are none.
    var otherBottlesText: String {
        nearbyPeers.others.values.sorted { $0.peer.text < $1.peer.text }.prefix(3).map { other in
            let name = other.name.flatMap { BottleIdentity.name(Array($0.utf8)) } ?? "A bottle"
            let address = other.address?.description ?? other.peer.text
            if options.otherBottles.contains(where: { $0.identities.contains(address) }) {
                return " \(name) (\(address)), another bottle of this store, is in range."
            }
            return " \(name) (\(address)) is in range, but does not belong to this store."
        }.joined()
    }

    /// The addresses of bottles in range that do not belong to this store, for the advice.
    var otherBottlesValues: [String: String] {
        let addresses = nearbyPeers.others.values.map { $0.address?.description ?? $0.peer.text }
            .filter { address in !options.otherBottles.contains { $0.identities.contains(address) } }.sorted().prefix(3)
        return addresses.isEmpty ? [:] : ["strangers": addresses.joined(separator: ", ")]
    }

    // MARK: - Recovery

    mutating func fail(_ error: LinkError) {
        if case .scanning = state { perform(.stopScan) }
        let count = failures[error.code, default: 0]
        failures[error.code] = count + 1
        let isOver = now >= end || connections >= limits.sessions
        let action =
            isOver
            ? nil
            : RetryTable.action(for: error, count: count, hasRadio: hasRadio, allowPowerCycle: options.allowPowerCycle)
        let rule = RetryTable.rule(for: error.code)
        guard let action else {
            if hasRadio, let peer = lastAdvertisement?.peer { report.history.suspectPeer = peer.text }
            return close(PollFailure(rule.failure, error.description, linkError: error.code))
        }
        startRecovery(action, lastAdvertisement?.peer, because: error.description, pause: rule.pause)
    }

    mutating func startRecovery(
        _ action: RecoveryAction, _ peer: PeerID?, because reason: String, pause: Duration = .zero
    ) {
        report.recovery.append(RecoveryStep(action: action, reason: reason))
        addDiagnostic(.info, "Recovery: \(action.text). Reason: \(reason)", code: "recovery")
        let limit = now.advanced(by: limits.connect)
        switch (action, peer) {
        case (.forget, let peer?):
            state = .recovering(peer, until: limit)
            perform(.clearCache(peer))
        case (.powerCycle, _):
            state = .recovering(peer, until: limit)
            perform(.powerCycle)
        case (.disconnect, _):
            state = .recovering(nil, until: limit)
            perform(.disconnect)
        case (.retry, _), (.restartDiscovery, _), (.forget, nil):
            state = .pausing(until: now.advanced(by: pause))
        }
    }

    mutating func recovered(_ outcome: String?) {
        if let outcome, !report.recovery.isEmpty { report.recovery[report.recovery.count - 1].outcome = outcome }
        state = .pausing(until: now.advanced(by: .milliseconds(100)))
    }
}

extension RecoveryAction {
    fileprivate var text: String {
        switch self {
        case .retry: "try again"
        case .disconnect: "end the old connection"
        case .forget: "remove the bottle from bluetoothd's cache"
        case .restartDiscovery: "restart the scan"
        case .powerCycle: "switch the adapter off and on"
        }
    }
}
