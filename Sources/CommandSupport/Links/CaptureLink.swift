package import Bluetooth
package import Emulator
import Replay
import Synchronization

/// The link `capture:FILE`: a central whose peripherals are the bottles of a capture, which respond as recorded. It has
/// `hasRadio`, because the central must scan: a capture can contain several bottles.
package final class CaptureLink: CentralLink {
    package let name: String
    package var hasRadio: Bool { true }
    package let events: AsyncStream<CentralEvent>
    private let continuation: AsyncStream<CentralEvent>.Continuation
    private let bottles: [Bottle]
    private let connected = Mutex<Bottle?>(nil)

    private struct Bottle: Sendable {
        let advertisement: Advertisement
        let link: ATTCentralLink
    }

    /// - Parameter hostTime: the host's local time, for requests that the capture does not answer.
    /// - Throws: `LinkError` if the file cannot be read or contains no bottle.
    package init(
        file: String, hostTime: LocalTime, instruments: LinkInstruments = LinkInstruments()
    ) throws(LinkError) {
        let name = "capture:\(file)"
        let scripts: [ResponseScript]
        do {
            let read = try ResponseScript.read([CapturePart(path: file)])
            scripts = read.scripts
            if let readingError = read.readingError {
                instruments.log("\(file): \(readingError). The link uses the part before this error")
            }
        } catch {
            throw LinkError(.notFound, "\(error)")
        }
        self.name = name
        let (events, continuation) = AsyncStream.makeStream(of: CentralEvent.self)
        (self.events, self.continuation) = (events, continuation)
        bottles = scripts.enumerated().map { index, script in
            Self.bottle(script, "bottle \(index + 1)", hostTime, instruments)
        }
        for bottle in bottles { Task { await Self.forward(bottle, to: continuation) } }
    }

    private static func bottle(
        _ script: ResponseScript, _ label: String, _ hostTime: LocalTime, _ instruments: LinkInstruments
    ) -> Bottle {
        let machine = VirtualBottleMachine(script, hostTime: hostTime, at: MonotonicClock.system.now())
        let (central, peripheral) = MemoryLink.pair(name: label, central: instruments)
        let driver = PeripheralDriver(machine, on: peripheral, log: instruments.log)
        Task {
            try await driver.open()
            await driver.run()
        }
        let advertisement = Advertisement(
            peer: PeerID(script.address?.description ?? label), address: script.address,
            name: machine.application.name, services: machine.application.advertisedServices)
        return Bottle(advertisement: advertisement, link: central)
    }

    private static func forward(_ bottle: Bottle, to continuation: AsyncStream<CentralEvent>.Continuation) async {
        for await event in bottle.link.events {
            if case .connected(_, let mtu) = event {
                continuation.yield(.connected(bottle.advertisement.peer, mtu: mtu))
            } else {
                continuation.yield(event)
            }
        }
    }

    package func perform(_ request: CentralRequest) {
        switch request {
        case .startScan: for bottle in bottles { continuation.yield(.advertised(bottle.advertisement)) }
        case .stopScan: break
        case .connect(let peer, let limit):
            guard let bottle = bottles.first(where: { $0.advertisement.peer == peer }) else {
                continuation.yield(.connectFailed(LinkError(.notFound, "\(peer) is not in \(name)")))
                return
            }
            connected.withLock { $0 = bottle }
            bottle.link.perform(.connect(PeerID(bottle.link.name), limit: limit))
        case .discover, .read, .write, .subscribe, .disconnect, .clearCache, .powerCycle:
            // Without a connection, any bottle of the capture rejects the request.
            (connected.withLock { $0 } ?? bottles[0]).link.perform(request)
        }
    }

    package func close() async {
        for bottle in bottles { await bottle.link.close() }
        continuation.finish()
    }
}
