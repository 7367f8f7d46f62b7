//! CCM* (IEEE 802.15.4-2015 annex B): in software, over a hardware block cipher, or completely in
//! hardware.
//!
//! CCM* with an authenticated message is CCM (RFC 3610) with a length field of two bytes and a
//! nonce of thirteen.

use core::fmt;

use aes::Aes128;
use ccm::aead::generic_array::typenum::{U1, U4, U8, U13, U16};
use ccm::aead::generic_array::{ArrayLength, GenericArray};
use ccm::aead::{AeadInPlace, KeyInit};
use ccm::{Ccm, TagSize};
use redpoll_base::copy;
// The cipher traits that the crate `ccm` uses.
use aes::cipher::inout::InOut;
use aes::cipher::{
    Block, BlockBackend, BlockCipher, BlockClosure, BlockEncrypt, BlockSizeUser, ParBlocksSizeUser,
};

/// The protection of frames: AES-128 in CCM* mode. Hardware with all of CCM* implements this trait.
/// [`BlockAes`] serves hardware with only the block cipher, and [`SoftwareAes`] hardware without
/// one.
pub trait CcmStar: Sync {
    /// Encrypts `message` in place and writes the code that authenticates it together with
    /// `open`. `mic` has 4, 8 or 16 bytes.
    ///
    /// # Errors
    /// [`CipherFault`] if the hardware fails. The content of `message` is then invalid.
    fn seal(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &mut [u8],
    ) -> Result<(), CipherFault>;

    /// Decrypts `message` in place; returns whether `mic` authenticates it together with
    /// `open`. If not, the content of `message` must not be used.
    fn open(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &[u8],
    ) -> bool;
}

/// The cipher failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CipherFault;

impl fmt::Display for CipherFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cipher has failed")
    }
}

impl core::error::Error for CipherFault {}

/// AES in software with constant run time for every key: the crate `aes`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftwareAes;

impl CcmStar for SoftwareAes {
    fn seal(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &mut [u8],
    ) -> Result<(), CipherFault> {
        let cipher = Aes128::new(GenericArray::from_slice(key));
        seal(&cipher, nonce, open, message, mic)
    }

    fn open(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &[u8],
    ) -> bool {
        let cipher = Aes128::new(GenericArray::from_slice(key));
        unseal(&cipher, nonce, open, message, mic)
    }
}

/// A hardware block cipher.
pub trait Aes: Sync {
    /// Encrypts `block` with AES-128.
    fn encrypt(&self, key: &[u8; 16], block: &mut [u8; 16]);
}

/// CCM* in software over a hardware block cipher.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockAes<A>(pub A);

impl<A: Aes> CcmStar for BlockAes<A> {
    fn seal(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &mut [u8],
    ) -> Result<(), CipherFault> {
        seal(&Keyed { key, aes: &self.0 }, nonce, open, message, mic)
    }

    fn open(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &[u8],
    ) -> bool {
        unseal(&Keyed { key, aes: &self.0 }, nonce, open, message, mic)
    }
}

/// A hardware block cipher in the form that `ccm` needs.
struct Keyed<'a, A> {
    key: &'a [u8; 16],
    aes: &'a A,
}

impl<A> BlockCipher for Keyed<'_, A> {}

impl<A> BlockSizeUser for Keyed<'_, A> {
    type BlockSize = U16;
}

impl<A: Aes> BlockEncrypt for Keyed<'_, A> {
    fn encrypt_with_backend(&self, f: impl BlockClosure<BlockSize = U16>) {
        f.call(&mut Backend(self));
    }
}

struct Backend<'a, A>(&'a Keyed<'a, A>);

impl<A> BlockSizeUser for Backend<'_, A> {
    type BlockSize = U16;
}

impl<A> ParBlocksSizeUser for Backend<'_, A> {
    type ParBlocksSize = U1;
}

impl<A: Aes> BlockBackend for Backend<'_, A> {
    fn proc_block(&mut self, mut block: InOut<'_, '_, Block<Self>>) {
        let mut bytes: [u8; 16] = (*block.get_in()).into();
        self.0.aes.encrypt(self.0.key, &mut bytes);
        *block.get_out() = bytes.into();
    }
}

fn seal<C>(
    cipher: &C,
    nonce: &[u8; 13],
    open: &[u8],
    message: &mut [u8],
    mic: &mut [u8],
) -> Result<(), CipherFault>
where
    C: BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt,
{
    match mic.len() {
        4 => seal_as::<_, U4>(cipher, nonce, open, message, mic),
        8 => seal_as::<_, U8>(cipher, nonce, open, message, mic),
        16 => seal_as::<_, U16>(cipher, nonce, open, message, mic),
        _ => Err(CipherFault),
    }
}

fn unseal<C>(cipher: &C, nonce: &[u8; 13], open: &[u8], message: &mut [u8], mic: &[u8]) -> bool
where
    C: BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt,
{
    match mic.len() {
        4 => unseal_as::<_, U4>(cipher, nonce, open, message, mic),
        8 => unseal_as::<_, U8>(cipher, nonce, open, message, mic),
        16 => unseal_as::<_, U16>(cipher, nonce, open, message, mic),
        _ => false,
    }
}

fn seal_as<C, M>(
    cipher: &C,
    nonce: &[u8; 13],
    open: &[u8],
    message: &mut [u8],
    mic: &mut [u8],
) -> Result<(), CipherFault>
where
    C: BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt,
    M: ArrayLength<u8> + TagSize,
{
    let nonce = GenericArray::from_slice(nonce);
    let tag = Ccm::<&C, M, U13>::from(cipher).encrypt_in_place_detached(nonce, open, message);
    let tag = tag.map_err(|_| CipherFault)?;
    copy(&tag, mic);
    Ok(())
}

fn unseal_as<C, M>(
    cipher: &C,
    nonce: &[u8; 13],
    open: &[u8],
    message: &mut [u8],
    mic: &[u8],
) -> bool
where
    C: BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt,
    M: ArrayLength<u8> + TagSize,
{
    let nonce = GenericArray::from_slice(nonce);
    let mut tag = GenericArray::<u8, M>::default();
    copy(mic, &mut tag);
    let cipher = Ccm::<&C, M, U13>::from(cipher);
    let opened = cipher.decrypt_in_place_detached(nonce, open, message, &tag);
    opened.is_ok()
}
