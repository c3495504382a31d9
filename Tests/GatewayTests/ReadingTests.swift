import BottleProtocol
import Bluetooth
import Testing

@testable import Gateway

@Suite struct ReadingTests {
    private let log = DrinkRecord.all(in: drinks(12).flatMap { $0 })
    private let now = MonotonicInstant(nanoseconds: 0)

    @Test func `readings agree on their common records`() {
        var agreement = ReadingAgreement()
        let isAgreed = [log[0..<8], log[2..<9], log[2..<12]].map { agreement.add(Array($0)) }
        #expect(isAgreed == [true, true, true])
        #expect([1, 2, 3, 4].map { agreement.agreedCount(of: $0) } == [10, 7, 6, 0])
    }

    @Test func `a reading that contradicts the first one discards both`() {
        let others: [[DrinkRecord]] = [
            Array(log[0..<3] + log[4..<8]), [log[1], log[0]] + Array(log[2..<8]), Array(log[8..<12]), [],
        ]
        for other in others {
            var agreement = ReadingAgreement()
            let isAgreed = [agreement.add(Array(log[0..<8])), agreement.add(other)]
            #expect(isAgreed == [true, false] && agreement.count == 0, "\(other.count)")
        }
    }

    @Test func `the acknowledgement omits one record per later drink unless the ring has room`() {
        var agreement = ReadingAgreement()
        for _ in 0..<2 { _ = agreement.add(log) }
        #expect([1, 3, 9].map { agreement.acknowledgeable(of: 2, drinks: $0, ring: 0) } == [11, 9, 6])
        #expect([12, 13, 15, 40].map { agreement.acknowledgeable(of: 2, drinks: 3, ring: $0) } == [9, 10, 12, 12])
        #expect(agreement.size(of: 2) == 12 && agreement.size(of: 3) == nil)
    }

    private func reader(_ profile: BottleProfile = .retail, isQuiet: Bool = true) throws -> LogReader {
        func service(
            _ uuid: UInt16, _ characteristic: UInt16, handle: UInt16, _ properties: CharacteristicProperties
        ) -> RemoteService {
            RemoteService(
                uuid: BluetoothUUID(uuid), handle: handle,
                characteristics: [
                    RemoteCharacteristic(uuid: BluetoothUUID(characteristic), handle: handle, properties: properties)
                ])
        }
        let pair = try CharacteristicPair.all(in: [
            service(profile.commandService, profile.commandCharacteristic, handle: 1, .write),
            service(profile.responseService, profile.responseCharacteristic, handle: 2, .notify),
        ])[0]
        return LogReader(pair: pair, isQuiet: isQuiet, anomalies: 0, hasRadio: true, limits: PollLimits(), at: now)
    }

    private func transfer(_ count: Int) -> LogTransfer? {
        var assembler = LogAssembler()
        let entry: [UInt8] = count == 0 ? [] : [UInt8(13 * count + 1), 6] + drinks(count).flatMap { $0 }
        let bytes = Frame.header(.put, length: entry.count) + entry
        for case .log(let transfer) in assembler.receive(bytes) { return transfer }
        return nil
    }

    @Test func `a retail response is whole after a frame and silence`() throws {
        var reader = try reader()
        #expect(reader.begin(at: now) == .request)
        reader.requestWritten(at: now)
        #expect(reader.status(follows: true, at: now) == .none)
        #expect(reader.frame(try #require(transfer(3)), isSingle: true, at: now) == .none)
        #expect(reader.tick(isWriting: false, at: reader.deadline) == .done)
        #expect(reader.anomaly == nil && reader.records.count == 3)
    }

    @Test func `a draft response is whole only if it ends with an empty frame`() throws {
        for hasEnd in [true, false] {
            var reader = try reader(.draft)
            _ = reader.begin(at: now)
            reader.requestWritten(at: now)
            _ = reader.frame(try #require(transfer(3)), isSingle: true, at: now)
            let end =
                hasEnd
                ? reader.frame(try #require(transfer(0)), isSingle: true, at: now)
                : reader.tick(isWriting: false, at: reader.deadline)
            #expect(end == .done && (reader.anomaly == nil) == hasEnd && reader.readingsNeeded == 4)
        }
    }

    @Test func `a response is not whole when it starts twice or its request is repeated`() throws {
        var twice = try reader()
        _ = twice.begin(at: now)
        twice.requestWritten(at: now)
        _ = twice.frame(try #require(transfer(3)), isSingle: true, at: now)
        _ = twice.status(follows: true, at: now)
        #expect(twice.anomaly != nil)
        var repeated = try reader()
        _ = repeated.begin(at: now)
        repeated.requestWritten(at: now)
        #expect(repeated.tick(isWriting: false, at: repeated.deadline) == .request && repeated.anomaly != nil)
    }

    @Test func `the link is not quiet while data arrives or a write has no response`() throws {
        var reader = try reader(isQuiet: false)
        #expect(reader.begin(at: now) == .none)
        let later = now.advanced(by: .seconds(1))
        _ = reader.frame(try #require(transfer(3)), isSingle: true, at: later)
        #expect(reader.records.isEmpty && reader.deadline == later.advanced(by: PollLimits().quietPeriod))
        #expect(reader.tick(isWriting: true, at: reader.deadline) == .none)
        #expect(reader.tick(isWriting: false, at: reader.deadline) == .request)
    }
}
