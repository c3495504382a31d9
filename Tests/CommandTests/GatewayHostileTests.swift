import Bluetooth
import BottleProtocol
import Foundation
import Support
import Testing

/// Malicious peripherals over the real socket against the built command: one clear line, the correct exit code, bounded
/// time and memory.
@Suite(.serialized) struct GatewayHostileTests {
    /// A GATT peripheral with a bottle's attribute table. It notifies what the test supplies when a central requests
    /// the log.
    final class Liar: Sendable {
        let link: SocketPeripheralLink
        let socket: String
        private let folder: TemporaryFolder
        private let work: Task<Void, Never>

        init(_ answer: @escaping @Sendable (Int) -> [UInt8]?) async throws {
            folder = try TemporaryFolder()
            let path = folder.url("liar.sock").path
            socket = "unix:" + path
            let link = SocketPeripheralLink(try UnixSocket(path: path))
            self.link = link
            try await link.open(
                GATTApplication(
                    name: String(repeating: "W", count: 248),
                    services: [
                        LocalService(
                            uuid: 0xFFE5,
                            characteristics: [LocalCharacteristic(uuid: 0xFFE9, properties: [.writeWithoutResponse])]),
                        LocalService(
                            uuid: 0xFFE0, characteristics: [LocalCharacteristic(uuid: 0xFFE4, properties: [.notify])]),
                    ]))
            work = Task {
                var sent = 0
                for await event in link.events {
                    let isAsked =
                        if case .write(_, 0xFFE9, HostCommand.drinkLog.encoded, _) = event { true } else { false }
                    let isGone = if case .notified = event { true } else { false }
                    guard isAsked && sent == 0 || isGone else { continue }
                    if let value = answer(sent) { link.perform(.notify(0xFFE4, value: value)) }
                    sent += 1
                }
            }
        }

        func close() async {
            await link.close()
            work.cancel()
        }
    }

    private func poll(_ socket: String) async throws -> (Program.Result, seconds: Double) {
        let folder = try TemporaryFolder()
        let clock = ContinuousClock()
        var result: Program.Result?
        let time = try await clock.measure {
            result = try await Program("waterh-gateway").run(
                ["poll", "--link", socket, "--store", folder.url("s.sqlite").path, "--json"], limit: 60)
        }
        return (try #require(result), Double(time.components.seconds))
    }

    @Test func `endless noise ends the poll at its limit`() async throws {
        let liar = try await Liar { [0xEE, UInt8($0 & 0xFF), UInt8($0 >> 8 & 0xFF)] }
        let (result, seconds) = try await poll(liar.socket)
        await liar.close()
        #expect(result.exitCode == 4)
        #expect(result.error.contains("Unexpected bottle response"))
        #expect(seconds < 40)
    }

    @Test func `an endless log is read in parts`() async throws {
        // An endless sequence of frames, each with one different record.
        let liar = try await Liar { number in
            [
                0x50, 0x54, 0, 15, 14, 6, 26, 6, 15, UInt8(number / 3600 % 24), UInt8(number / 60 % 60),
                UInt8(number % 60), 0, 100, 0, 0, 1, 97, 0,
            ]
        }
        let (result, seconds) = try await poll(liar.socket)
        await liar.close()
        let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        // Records that differ in each reading are not acknowledged. On a busy machine the peripheral can be silent for
        // seconds. That ends a reading, and the result can be "complete".
        #expect(object?["acknowledged"] as? Int == 0)
        // The poll ends at its limit, or after eight readings that differ, depending on the speed of the machine.
        #expect((1...9137).contains(object?["received"] as? Int ?? 0))
        #expect(seconds < 40)
    }

    @Test func `an endless frame ends the poll`() async throws {
        let liar = try await Liar {
            $0 == 0 ? [0x50, 0x54, 0xFF, 0xFF, 14, 6] + Array(repeating: 0x1A, count: 13) : nil
        }
        let (result, seconds) = try await poll(liar.socket)
        await liar.close()
        #expect(result.exitCode == 1 || result.exitCode == 4)
        #expect(!result.error.isEmpty)
        #expect(seconds < 40)
    }

    @Test(
        arguments: [
            [], [0x03], [0x03, 0xFF], [0xFF, 0xFF, 0xFF], Array(repeating: 0x09, count: 600),
            [0x01, 0x02, 0x00, 0x00, 0x01],
        ] as [[UInt8]])
    func `a peer that does not speak ATT is reported`(_ bytes: [UInt8]) async throws {
        let folder = try TemporaryFolder()
        let place = try UnixSocket(path: folder.url("raw.sock").path)
        let listener = try place.listen()
        let server = Thread {
            for _ in 0..<4 {
                let descriptor = accept4(listener)
                guard descriptor >= 0 else { return }
                var buffer = [UInt8](repeating: 0, count: 1024)
                _ = recv(descriptor, &buffer, buffer.count, 0)
                _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                _ = recv(descriptor, &buffer, buffer.count, 0)
                Glibc.close(descriptor)
            }
        }
        server.start()
        let (result, seconds) = try await poll("unix:" + place.path)
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
        #expect([1, 4, 5].contains(result.exitCode), "\(result.error)")
        #expect(result.error.hasPrefix("error: ") || result.error.contains("\nerror: "), "\(result.error)")
        #expect(!result.signalled)
        #expect(seconds < 40)
    }

    /// Waits at most 30 seconds for a connection on a non-blocking listener.
    private func accept4(_ listener: Int32) -> Int32 {
        var ready = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&ready, 1, 30_000) > 0 else { return -1 }
        return accept(listener, nil, nil)
    }
}
