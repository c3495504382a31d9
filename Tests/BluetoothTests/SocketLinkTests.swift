import Bluetooth
import Foundation
import Glibc
import Support
import Testing

extension RawSocket {
    fileprivate func ask(_ text: String) async -> String? {
        send(bytes(text))
        return await next().map(hex)
    }
}

@Suite struct SocketLinkTests {
    private func open(
        _ path: String, kind: UnixSocket.Kind = .unix, acceptTimeout: Duration = .seconds(2),
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> (ATTPeripheralLink, Inbox<PeripheralEvent>) {
        let link = ATTPeripheralLink(
            try UnixSocket(path: path, kind: kind), acceptTimeout: acceptTimeout, instruments: LinkInstruments(log: log)
        )
        let events = Inbox(link.events)
        try await link.open(smallBottle)
        return (link, events)
    }

    @Test func `invalid socket paths are rejected`() {
        for path in ["", "/tmp/" + String(repeating: "x", count: 103), "/tmp/a\0b"] {
            #expect(throws: LinkError.self) { try UnixSocket(path: path) }
        }
        let error = #expect(throws: LinkError.self) { try UnixSocket(path: String(repeating: "x", count: 108)) }
        #expect(error?.sentence.contains("has 108 bytes; the system takes 107") == true)
        #expect(throws: Never.self) { try UnixSocket(path: String(repeating: "x", count: 107)) }
    }

    @Test func `a path of maximum length works`() async throws {
        let directory = "/tmp/" + String(repeating: "d", count: 60)
        mkdir(directory, 0o700)
        defer { rmdir(directory) }
        let name = "\(UInt32.random(in: 0...(.max)))"
        let path =
            directory + "/" + name + String(repeating: "s", count: 107 - directory.utf8.count - 1 - name.utf8.count)
        let (link, _) = try await open(path)
        #expect(try await RawSocket(path).ask("0A 05 00") == "0B 00 00")
        await link.close()
        #expect(access(path, F_OK) != 0)
    }

    @Test func `the socket file of an ended process is replaced, then removed`() async throws {
        let path = temporarySocket()
        let dead = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
        let bound = try UnixSocket(path: path).withAddress { bind(dead, $0, $1) }
        #expect(bound == 0 && listen(dead, 1) == 0)
        close(dead)
        #expect(access(path, F_OK) == 0)
        let (link, _) = try await open(path)
        await link.close()
        #expect(access(path, F_OK) != 0)
    }

    @Test func `the socket file of a running process is not replaced`() async throws {
        let path = temporarySocket()
        let (first, _) = try await open(path)
        let error = await #expect(throws: LinkError.self) { try await open(path) }
        #expect(error?.code == .inProgress)
        #expect(error?.sentence == "another process listens on \(path): stop it or use another path")
        #expect(try await RawSocket(path).ask("0A 05 00") == "0B 00 00")
        await first.close()
    }

    @Test func `a file that is not a socket is not replaced`() async throws {
        let path = temporarySocket()
        close(creat(path, 0o600))
        defer { unlink(path) }
        let replaced = await #expect(throws: LinkError.self) { try await open(path) }
        #expect(replaced?.sentence.contains("exists and is not a socket") == true)
        let central = ATTCentralLink(try UnixSocket(path: path))
        let events = Inbox(central.events)
        central.perform(.startScan)
        let error = try await events.next("scanFailed") { if case .scanFailed(let error) = $0 { error } else { nil } }
        #expect(error.sentence == "not a socket: \(path)")
        await central.close()
    }

    @Test func `a PDU on a stream socket can arrive in pieces`() async throws {
        let path = temporarySocket()
        let (link, _) = try await open(path, kind: .stream)
        let central = try RawSocket(path, isStream: true)
        for byte in BasicFrames.frame(bytes("02 05 02")) { central.send([byte]) }
        #expect(await central.next() == BasicFrames.frame(bytes("03 05 02")))
        await link.close()
    }

    @Test func `a stream that is not ATT is disconnected`() async throws {
        let path = temporarySocket()
        let (link, events) = try await open(path, kind: .stream)
        let central = try RawSocket(path, isStream: true)
        central.send(Array("GET / HTTP/1.1".utf8))
        #expect(await central.next() == nil)
        let next = try RawSocket(path, isStream: true)
        next.send(BasicFrames.frame(bytes("02 05 02")))
        #expect(await next.next() == BasicFrames.frame(bytes("03 05 02")))
        _ = try await events.next("disconnected") { if case .disconnected = $0 { true } else { nil } }
        await link.close()
    }

    @Test func `a SEQPACKET socket rejects a stream client`() async throws {
        let path = temporarySocket()
        let (link, _) = try await open(path)
        let central = ATTCentralLink(try UnixSocket(path: path, kind: .stream))
        let events = Inbox(central.events)
        central.perform(.connect(PeerID(path), limit: .seconds(5)))
        let failure = try await events.next("failure") { if case .connectFailed(let error) = $0 { error } else { nil } }
        #expect("\(failure)".contains("not a stream socket"), "\(failure)")
        await central.close()
        await link.close()
    }

    @Test func `a missing directory is reported`() async throws {
        let path = "/tmp/no-such-directory-\(UInt32.random(in: 0...(.max)))/s"
        let error = await #expect(throws: LinkError.self) { try await open(path) }
        #expect(error?.code == .notFound && error?.sentence.contains("the directory of the socket") == true)
    }

    @Test func `connection errors name their cause`() async throws {
        let path = temporarySocket()
        func failure() async throws -> LinkError {
            let central = ATTCentralLink(try UnixSocket(path: path))
            let events = Inbox(central.events)
            central.perform(.connect(PeerID(path), limit: .seconds(5)))
            let error = try await events.next("connectFailed") {
                if case .connectFailed(let error) = $0 { error } else { nil }
            }
            await central.close()
            return error
        }
        #expect(try await failure().code == .notFound)
        let dead = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
        _ = try UnixSocket(path: path).withAddress { bind(dead, $0, $1) }
        let refused = try await failure()
        #expect(refused.sentence.contains("no process listens") && refused.isTransient)
        close(dead)
        unlink(path)
        let stream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        _ = try UnixSocket(path: path).withAddress { bind(stream, $0, $1) }
        listen(stream, 1)
        #expect(try await failure().sentence.contains("not a SEQPACKET socket"))
        close(stream)
        unlink(path)
    }

    @Test func `connecting to a full listen queue times out`() async throws {
        let path = temporarySocket()
        let unread = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
        _ = try UnixSocket(path: path).withAddress { bind(unread, $0, $1) }
        listen(unread, 0)
        defer { close(unread); unlink(path) }
        var centrals: [(ATTCentralLink, Inbox<CentralEvent>)] = []
        for _ in 0..<3 {
            let central = ATTCentralLink(try UnixSocket(path: path))
            centrals.append((central, Inbox(central.events)))
            central.perform(.connect(PeerID(path), limit: .milliseconds(300)))
        }
        for (central, events) in centrals {
            let error = try await events.next("connectFailed") {
                if case .connectFailed(let error) = $0 { error } else { nil }
            }
            #expect(error.code == .timeout)
            await central.close()
        }
    }

    @Test func `each connection is a separate bearer`() async throws {
        let path = temporarySocket()
        let (link, events) = try await open(path)
        let centrals = try (0..<3).map { _ in try RawSocket(path) }
        for (number, central) in centrals.enumerated() {
            #expect(await central.ask("02 \(number == 0 ? "17 00" : "05 02")") == "03 05 02")
            #expect(await central.ask("12 0D 00 01 00") == "13")
        }
        link.perform(.notify(0xFFE4, value: Array(repeating: 1, count: 100)))
        for (central, length) in zip(centrals, [23, 103, 103]) { #expect(await central.next()?.count == length) }
        try await events.next(.notified(0xFFE4))
        await link.close()
        for central in centrals { #expect(await central.next() == nil) }
    }

    @Test func `invalid messages do not stop the link`() async throws {
        let path = temporarySocket()
        let (lines, log) = AsyncStream.makeStream(of: String.self)
        let (link, events) = try await open(path) { log.yield($0) }
        let central = try RawSocket(path)
        central.send([])
        central.send(Array(repeating: 0x52, count: 3000))
        central.send(Array(repeating: 0x3E, count: 900))
        #expect(await central.ask("0A 05 00") == "0B 00 00")
        _ = try await events.next("connected") { if case .connected = $0 { true } else { nil } }
        await link.close()
        log.finish()
        var count = 0
        for await line in lines {
            #expect(line.hasPrefix("central 1: sent a malformed"))
            count += 1
        }
        #expect(count == 3)
    }

    /// PDUs of a central that disconnects without reading are processed, also while the peripheral still sends.
    @Test(arguments: [false, true])
    func `data sent before a disconnect is received`(duringNotifications: Bool) async throws {
        let path = temporarySocket()
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let resume = DispatchSemaphore(value: 0)
        let link = ATTPeripheralLink(
            try UnixSocket(path: path),
            instruments: LinkInstruments(observe: { observation in
                guard case .pdu(.toCentral, let pdu) = observation.event, pdu.first == 0x1B, pdu.last == 3 else {
                    return
                }
                continuation.yield()
                resume.wait()
            }))
        let events = Inbox(link.events)
        try await link.open(smallBottle)
        var central: RawSocket? = try RawSocket(path)
        #expect(await central?.ask("12 0D 00 01 00") == "13")
        for value in 1...(duringNotifications ? 4 : 3) { link.perform(.notify(0xFFE4, value: [UInt8(value)])) }
        for await _ in stream { break }
        // The link pauses before it sends the third value.
        central?.send(bytes("52 10 00 AA"))
        central = nil
        resume.signal()
        let isReceived = try await events.next("write") {
            if case .write(_, 0xFFE9, value: [0xAA], token: nil) = $0 { true } else { nil }
        }
        #expect(isReceived)
        _ = try await events.next("disconnected") { if case .disconnected = $0 { true } else { nil } }
        await link.close()
    }

    @Test func `a central that never reads is disconnected`() async throws {
        let path = temporarySocket()
        let (link, _) = try await open(path)
        let unread = try RawSocket(path)
        for _ in 0..<20_000 {
            let request = bytes("0A 03 00")
            guard Glibc.send(unread.descriptor, request, request.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) > 0
            else { break }
        }
        #expect(try await RawSocket(path).ask("0A 05 00") == "0B 00 00")
        await link.close()
    }

    @Test func `a second central is disconnected`() async throws {
        let path = temporarySocket()
        let (link, events) = try await open(path, acceptTimeout: .milliseconds(100))
        let first = try RawSocket(path)
        _ = try await events.next("connected") { if case .connected = $0 { true } else { nil } }
        link.perform(.advertise(false))
        #expect(await first.ask("0A 05 00") == "0B 00 00")
        let second = try RawSocket(path)
        #expect(await second.ask("0A 05 00") == nil)
        #expect(await first.ask("0A 05 00") == "0B 00 00")
        await link.close()
    }

    @Test func `centrals in quick succession are served`() async throws {
        let path = temporarySocket()
        let link = ATTPeripheralLink(try UnixSocket(path: path), acceptTimeout: .seconds(30))
        try await link.open(smallBottle)
        let bottle = Task {
            // A connected bottle does not advertise.
            for await event in link.events {
                switch event {
                case .connected: link.perform(.advertise(false))
                case .disconnected: link.perform(.advertise(true))
                default: break
                }
            }
        }
        for _ in 0..<200 { #expect(try await RawSocket(path).ask("0A 05 00") == "0B 00 00") }
        await link.close()
        await bottle.value
    }

    @Test func `the events of a released link end`() async throws {
        for _ in 0..<20 {
            let path = temporarySocket()
            let ends: [Inbox<CentralEvent>]
            let (link, events) = try await open(path)
            do {
                let central = ATTCentralLink(try UnixSocket(path: path))
                ends = [Inbox(central.events)]
                central.perform(.connect(PeerID(path), limit: .seconds(5)))
                _ = try await ends[0].next("connected") { if case .connected = $0 { true } else { nil } }
            }
            try await ends[0].waitUntilFinished()
            _ = try await events.next("disconnected") { if case .disconnected = $0 { true } else { nil } }
            await link.close()
        }
    }
}
