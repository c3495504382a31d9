import Bluetooth
import Support
import Testing

/// The codec against PDUs that real devices sent.
@Suite struct CodecOnCapturesTests {
    /// Every PDU is read and, written again, is the same bytes: but for 128-bit forms of short UUIDs, where the value
    /// is.
    @Test(arguments: RealCaptures.files)
    func realPDUsSurvive(path: String) throws {
        let observed = try Observed(path: path)
        var unknown: Set<ATTOpcode> = []
        for (att, pdu) in observed.pdus where !att.isSynthetic {
            do throws(MalformedPDU) {
                let decoded = try ATTPDU(decoding: pdu)
                if case .unknown(let opcode, _) = decoded { unknown.insert(opcode) }
                let again = decoded.encoded
                #expect(again == pdu || (try? ATTPDU(decoding: again)) == decoded, "frame \(att.frame): \(hex(pdu))")
            } catch {
                Issue.record("frame \(att.frame): \(hex(pdu)): \(error)")
            }
        }
        #expect(unknown.isEmpty)
    }
}
