import Bluetooth
import Support
import Testing

/// Byte sequences derived by hand from Core 5.4, Vol 3 Part F, 3.4: one or more for every PDU.
private let vectors: [(String, ATTPDU)] = [
    ("01 10 33 00 0A", .errorResponse(request: .readByGroupTypeRequest, handle: 0x33, error: .attributeNotFound)),
    ("01 7F 00 00 85", .errorResponse(request: ATTOpcode(0x7F), handle: 0, error: ATTErrorCode(0x85))),
    ("02 05 02", .exchangeMTURequest(mtu: 517)),
    ("03 17 00", .exchangeMTUResponse(mtu: 23)),
    ("04 16 00 FF FF", .findInformationRequest(ATTHandleRange(0x16, 0xFFFF))),
    (
        "05 01 16 00 02 29 17 00 01 29",
        .findInformationResponse([ATTInformation(0x16, 0x2902), ATTInformation(0x17, 0x2901)])
    ),
    (
        "05 02 16 00 12 2B 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00",
        .findInformationResponse([ATTInformation(0x16, BluetoothUUID("00010203-0405-0607-0809-0A0B0C0D2B12")!)])
    ),
    (
        "06 01 00 FF FF 00 28 E0 FF",
        .findByTypeValueRequest(ATTHandleRange(1, 0xFFFF), type: 0x2800, value: [0xE0, 0xFF])
    ),
    (
        "07 10 00 14 00 20 00 FF FF",
        .findByTypeValueResponse([ATTHandleRange(0x10, 0x14), ATTHandleRange(0x20, 0xFFFF)])
    ),
    ("08 01 00 05 00 03 28", .readByTypeRequest(ATTHandleRange(1, 5), type: 0x2803)),
    (
        "08 01 00 05 00 12 2B 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00",
        .readByTypeRequest(ATTHandleRange(1, 5), type: BluetoothUUID("00010203-0405-0607-0809-0A0B0C0D2B12")!)
    ),
    (
        "09 07 02 00 02 03 00 00 2A 04 00 02 05 00 01 2A",
        .readByTypeResponse([ATTHandleValue(2, bytes("02 03 00 00 2A")), ATTHandleValue(4, bytes("02 05 00 01 2A"))])
    ),
    ("0A 03 00", .readRequest(handle: 3)),
    ("0B", .readResponse(value: [])),
    ("0B 57 61 74", .readResponse(value: [0x57, 0x61, 0x74])),
    ("0C 03 00 16 00", .readBlobRequest(handle: 3, offset: 22)),
    ("0D 72", .readBlobResponse(value: [0x72])),
    ("0E 03 00 05 00", .readMultipleRequest(handles: [3, 5])),
    ("0F 01 02 03", .readMultipleResponse(values: [1, 2, 3])),
    ("10 01 00 FF FF 00 28", .readByGroupTypeRequest(ATTHandleRange(1, 0xFFFF), type: 0x2800)),
    (
        "11 06 01 00 05 00 00 18 06 00 09 00 01 18",
        .readByGroupTypeResponse([ATTGroupValue(1, 5, [0x00, 0x18]), ATTGroupValue(6, 9, [0x01, 0x18])])
    ),
    ("12 16 00 01 00", .writeRequest(handle: 0x16, value: [1, 0])),
    ("13", .writeResponse),
    ("52 0C 00 47 54 00 01 06", .writeCommand(handle: 0x0C, value: bytes("47 54 00 01 06"))),
    (
        "D2 0C 00 01 01 02 03 04 05 06 07 08 09 0A 0B 0C",
        .signedWriteCommand(handle: 0x0C, value: [1], signature: Array(1...12))
    ),
    ("16 0C 00 12 00 AA BB", .prepareWriteRequest(handle: 0x0C, offset: 18, value: [0xAA, 0xBB])),
    ("17 0C 00 12 00 AA BB", .prepareWriteResponse(handle: 0x0C, offset: 18, value: [0xAA, 0xBB])),
    ("18 01", .executeWriteRequest(flags: 1)),
    ("19", .executeWriteResponse),
    ("1B 0F 00 52 54 00 03 02 02 37", .notification(handle: 0x0F, value: bytes("52 54 00 03 02 02 37"))),
    ("1D 08 00 01 00 FF FF", .indication(handle: 8, value: bytes("01 00 FF FF"))),
    ("1E", .confirmation),
    ("20 03 00 05 00", .readMultipleVariableRequest(handles: [3, 5])),
    (
        "21 02 00 AA BB 05 00 CC",
        .readMultipleVariableResponse([ATTLengthValue(length: 2, [0xAA, 0xBB]), ATTLengthValue(length: 5, [0xCC])])
    ),
    (
        "23 0F 00 01 00 AA 11 00 02 00 BB CC",
        .multipleNotification([ATTHandleValue(0x0F, [0xAA]), ATTHandleValue(0x11, [0xBB, 0xCC])])
    ),
    ("7F 01 02", .unknown(ATTOpcode(0x7F), parameters: [1, 2])),
    ("14", .unknown(ATTOpcode(0x14), parameters: [])),
]

@Suite struct ATTPDUTests {
    @Test(arguments: vectors)
    func `ATT PDUs encode to and decode from the bytes of the specification`(picture: String, pdu: ATTPDU) throws {
        #expect(try ATTPDU(decoding: bytes(picture)) == pdu)
        #expect(hex(pdu.encoded) == picture)
        #expect(pdu.opcode.rawValue == bytes(picture)[0])
    }

    /// A truncated PDU is either another valid PDU or an error with an offset inside it.
    @Test(arguments: vectors)
    func `decoding a truncated PDU returns a whole PDU or throws`(picture: String, pdu: ATTPDU) {
        let complete = bytes(picture)
        for length in complete.indices { check(Array(complete[..<length])) }
        for extra in 1...17 { check(complete + Array(repeating: 0x5A, count: extra)) }
    }

    @Test func `decoding random bytes returns a PDU that encodes to the same bytes, or throws`() {
        let seed: UInt64 = .random(in: 0...(.max))
        print("ATTPDUTests.randomBytesAreWholeOrRefused seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            var pdu = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...0x30, using: &generator)
            }
            if Bool.random(using: &generator), !pdu.isEmpty { pdu[0] = UInt8.random(in: 0...255, using: &generator) }
            check(pdu)
        }
    }

    private func check(_ pdu: [UInt8]) {
        do throws(MalformedPDU) {
            let decoded = try ATTPDU(decoding: pdu)
            // A 128-bit form of a short UUID is encoded short: the value is equal, the bytes can differ.
            let again = decoded.encoded
            #expect(again == pdu || (try? ATTPDU(decoding: again)) == decoded, "\(hex(pdu))")
        } catch {
            #expect((0...pdu.count).contains(error.offset), "\(hex(pdu)): \(error)")
            #expect(error.needed != error.found, "\(hex(pdu)): \(error)")
        }
    }

    @Test(arguments: [
        ("", "opcode at byte 0: needs 1, found 0"),
        ("02 05", "MTU at byte 1: needs 2, found 1"),
        ("02 05 02 00", "nothing more at byte 3: needs 0, found 1"),
        ("05 03 01 00 00 28", "format (1 or 2) at byte 1: needs 1, found 3"),
        ("05 01 01 00 00", "information data at byte 2: needs 4, found 3"),
        ("08 01 00 05 00 03 28 00", "attribute type (2 or 16 bytes) at byte 5: needs 16, found 3"),
        ("09 01 02", "length at byte 1: needs 2, found 1"),
        ("09 07 02 00 02 03 00 00", "attribute data list at byte 2: needs 7, found 6"),
        ("11 03 01 00 05 00 00 18", "length at byte 1: needs 4, found 3"),
        ("0E 03 00", "set of handles at byte 1: needs 4, found 2"),
        ("1B 0F", "handle at byte 1: needs 2, found 1"),
        ("1E 00", "nothing more at byte 1: needs 0, found 1"),
        ("23 0F 00 02 00 AA", "attribute value at byte 5: needs 2, found 1"),
        ("D2 0C 00 01 02", "authentication signature at byte 3: needs 12, found 2"),
    ])
    func `a decoding error names the field, its offset and its length`(picture: String, sentence: String) {
        let error = #expect(throws: MalformedPDU.self) { try ATTPDU(decoding: bytes(picture)) }
        #expect(error?.description == sentence)
    }

    @Test func `opcodes and error codes have the names of the specification`() {
        #expect(ATTOpcode.readByGroupTypeRequest.description == "Read By Group Type Request")
        #expect(ATTOpcode(0x7F).description == "Opcode 0x7F")
        #expect(ATTErrorCode.prepareQueueFull.description == "Prepare Queue Full (0x09)")
        #expect(ATTErrorCode(0x85).description == "application error 0x85")
        #expect(ATTErrorCode(0x42).description == "error 0x42")
    }
}
