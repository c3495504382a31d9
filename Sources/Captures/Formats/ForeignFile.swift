/// Files that people drop on a capture reader and that are none: told apart, so that the refusal can say what to do.
enum ForeignFile {
    /// A refusal in words for a kind of file that is known; `nil` for everything else.
    static func recognise(_ head: RawSpan, isLast: Bool) -> CaptureError? {
        if head.byteCount == 0, isLast { return error("the file is empty") }
        if head.has("\u{1F}", at: 0), head.byteCount > 1, head.u8(1) == 0x8B {
            return error("this is a gzip file: unpack it first (gunzip -c FILE)")
        }
        if head.has("PK\u{3}\u{4}", at: 0) {
            return error(
                """
                this is a zip file: unpack it first; in an Android bug report the log is \
                FS/data/misc/bluetooth/logs/btsnoop_hci.log
                """
            )
        }
        if head.byteCount > 1, head.u8(0) == 0x1F, head.u8(1) == 0x9D {
            return error("this is a compressed file (.Z): unpack it first (gunzip -c FILE)")
        }
        if head.byteCount > 3, head.u32(0, bigEndian: true) == 0x0422_4D18 {
            return error("this is an lz4 file: unpack it first (lz4 -dc FILE)")
        }
        if head.byteCount > 5, head.has("7z", at: 0), head.u32(2, bigEndian: true) == 0xBCAF_271C {
            return error("this is a 7z file: unpack it first (7z x FILE)")
        }
        if head.has("Rar!\u{1A}\u{7}", at: 0) { return error("this is a rar file: unpack it first (unrar x FILE)") }
        if head.byteCount > 262, head.has("ustar", at: 257) {
            return error("this is a tar file: unpack it first (tar -xf FILE)")
        }
        if head.has("BZh", at: 0) { return error("this is a bzip2 file: unpack it first (bunzip2 -c FILE)") }
        if head.byteCount > 5, head.u8(0) == 0xFD, head.has("7zXZ", at: 1) {
            return error("this is an xz file: unpack it first (xz -dc FILE)")
        }
        if head.byteCount > 3, head.u32(0, bigEndian: true) == 0x28B5_2FFD {
            return error("this is a zstd file: unpack it first (zstd -dc FILE)")
        }
        if head.has("SQLite format 3\0", at: 0) { return error("this is a SQLite database, no capture") }
        if head.byteCount > 3, head.u8(0) == 0x7F, head.has("ELF", at: 1) {
            return error("this is a program, no capture")
        }
        if head.has("%PDF", at: 0) { return error("this is a PDF, no capture") }
        if head.has("snoop\0\0\0", at: 0) {
            return error("this is a Solaris snoop file of network packets, no Bluetooth capture")
        }
        if head.has("--- BEGIN:BTSNOOP_LOG_SUMMARY", at: 0) {
            return error("this is the packed log of a bug report (btsnooz): convert it with Android's btsnooz.py first")
        }
        return nil
    }

    static func unrecognised(_ head: RawSpan) -> CaptureError {
        let formats =
            """
            read are btsnoop, pcap, pcapng, PacketLogger, hex text, the log of nRF Connect, and dumps of tshark \
            and hcidump
            """
        var text = true
        for index in 0..<min(head.byteCount, 512) where head.u8(index) < 0x09 || (0x0E..<0x20).contains(head.u8(index))
        { text = false }
        guard !text else { return error("this text is no capture: \(formats)") }
        let start = (0..<min(head.byteCount, 8)).map { index -> String in
            let digits = String(head.u8(index), radix: 16, uppercase: true)
            return digits.utf8.count < 2 ? "0" + digits : digits
        }
        return error("this is no capture that is read here (it begins \(start.joined(separator: " "))): \(formats)")
    }

    private static func error(_ sentence: String) -> CaptureError { CaptureError(.unrecognised, at: 0, sentence) }
}
