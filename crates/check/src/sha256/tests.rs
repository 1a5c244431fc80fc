use super::sha256_hex;

/// The examples of FIPS 180-4, and each length around a block's end against the next test's chain.
#[test]
fn known_digests() {
    let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let longer =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    for (text, digest) in [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (longer, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
    ] {
        assert_eq!(sha256_hex(text.as_bytes()), digest);
    }
    let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    assert_eq!(sha256_hex(&vec![b'a'; 1_000_000]), million);
}

/// A chain over lengths 0 to 263, made with Python's hashlib.
#[test]
fn every_length_of_padding() {
    let chain = (0..200).fold(String::new(), |digest, n| sha256_hex(format!("{digest}{}", "x".repeat(n)).as_bytes()));
    assert_eq!(chain, "17e907d803d8884243414b4e18d18acd5f8eacdc3941a8585b8d96940a81509c");
}
